/** SVG: its recognition, its size, and the encoding that every browser shows in a page, which is UTF-8. */

import type { ByteFlow, Size } from "./byte_flow.ts";
import { ascii } from "./bytes.ts";

/** Bytes in which the root has to begin. */
const headBytes = 262_144;

interface Drawing {
  readonly size: Size | null;
  /** Its encoding, where that is another one than UTF-8. */
  readonly encoding: string | null;
  /** True for a document type in lower case, which is none in XML. */
  readonly hasLowerDoctype: boolean;
}

/** Reads the beginning of an SVG. Returns null for other files. */
export function readDrawing(bytes: Uint8Array): Drawing | null {
  const head = bytes.subarray(0, headBytes);
  const encoding = encodingOf(head);
  // Its markup is in ASCII, so one character for a byte does where bytes are no UTF-8.
  const text = new TextDecoder(encoding?.startsWith("utf-16") ? encoding : "latin1").decode(head);
  const prolog = prologOf(text);
  if (prolog === null) return null;
  const { end, lowerDoctypeAt } = prolog;
  const tag = /^<(?:[\w.-]{1,100}:)?svg[\s/>][^>]{0,4096}/.exec(text.slice(end, end + 4_300))?.[0];
  return tag === undefined ? null : { size: sizeIn(tag), encoding, hasLowerDoctype: lowerDoctypeAt !== null };
}

const doctypeLength = "<!doctype".length;

/** Returns what stands before the root: where it ends, and where a document type in lower case is. Null: it is not well-formed. */
function prologOf(text: string): { readonly end: number; readonly lowerDoctypeAt: number | null } | null {
  let at = text.startsWith("\xef\xbb\xbf") ? 3 : 0;
  let doctypeAt: number | null = null;
  for (;;) {
    while (/[ \t\r\n]/.test(text.charAt(at))) at++;
    if (!/^<[!?]/.test(text.slice(at, at + 2))) break;
    const end = text.startsWith("<!--", at) ? endOf(text, at + 4, "-->") : declarationEnd(text, at);
    if (end === -1) return null;
    const isDoctype = text.slice(at, at + doctypeLength).toLowerCase() === "<!doctype";
    if (isDoctype && doctypeAt !== null) return null;
    if (isDoctype) doctypeAt = at;
    at = end;
  }
  const isLower = doctypeAt !== null && text.startsWith("<!doctype", doctypeAt);
  return { end: at, lowerDoctypeAt: isLower ? doctypeAt : null };
}

export async function* walkDrawing(flow: ByteFlow): AsyncGenerator<Uint8Array, null> {
  const drawing = readDrawing(await flow.peek(headBytes));
  const isFine = drawing === null || (drawing.encoding === null && !drawing.hasLowerDoctype);
  const decoder = isFine ? null : decoderOf(drawing.encoding ?? "utf-8");
  if (decoder !== null) {
    const encoder = new TextEncoder();
    const head = decoder.decode(await flow.take(headBytes), { stream: true });
    const at = prologOf(head)?.lowerDoctypeAt ?? null;
    const fixed = at === null ? head : `${head.slice(0, at)}<!DOCTYPE${head.slice(at + doctypeLength)}`;
    yield encoder.encode(fixed.replace(declared, "$1"));
    for await (const chunk of flow.pass(Number.POSITIVE_INFINITY)) {
      const text = decoder.decode(chunk, { stream: true });
      if (text !== "") yield encoder.encode(text);
    }
    const rest = decoder.decode();
    if (rest !== "") yield encoder.encode(rest);
  }
  yield* flow.pass(Number.POSITIVE_INFINITY);
  return null;
}

/**
 * The encoding in an XML declaration (XML 1.0, section 2.8). White space is that of XML: bytes of other encodings may look like that
 * of Unicode.
 */
const declared =
  /^(<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*["'][\w.]{1,10}["'])[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*["']([\w.:-]{1,40})["'](?=[ \t\r\n]*(?:standalone[ \t\r\n]*=[ \t\r\n]*["'](?:yes|no)["'][ \t\r\n]*)?\?>)/;

function encodingOf(head: Uint8Array): string | null {
  const begin = ascii(head, 0, 400);
  if (/^(?:\xff\xfe|<\0)/.test(begin)) return "utf-16le";
  if (/^(?:\xfe\xff|\0<)/.test(begin)) return "utf-16be";
  const name = declared.exec(begin)?.[2]?.toLowerCase() ?? "utf-8";
  return name.startsWith("utf") ? null : name;
}

/** Returns null for an encoding that is not known: the file stays as it is. */
function decoderOf(encoding: string): TextDecoder | null {
  try {
    return new TextDecoder(encoding);
  } catch {
    return null;
  }
}

/** Returns the end of an instruction, or of a document type of SVG with all that it declares; -1 for others. */
function declarationEnd(text: string, at: number): number {
  if (text.startsWith("<?", at)) return endOf(text, at, "?>");
  if (!/^<!doctype\s{1,100}(?:[\w.-]{1,100}:)?svg[\s[>]/i.test(text.slice(at, at + 320))) return -1;
  let isInSubset = false;
  const sign = /["'[\]>]|<!--/g;
  sign.lastIndex = at;
  for (let found = sign.exec(text); found !== null; found = sign.exec(text)) {
    const [mark] = found;
    if (mark === ">" && !isInSubset) return sign.lastIndex;
    if (mark === "[" || mark === "]") isInSubset = mark === "[";
    if (mark === ">" || mark === "[" || mark === "]") continue;
    // Quoted texts and comments may have any sign.
    const end = endOf(text, sign.lastIndex, mark === "<!--" ? "-->" : mark);
    if (end === -1) return -1;
    sign.lastIndex = end;
  }
  return -1;
}

/** Returns the place behind the next occurrence of a text, or -1. */
function endOf(text: string, from: number, end: string): number {
  const at = text.indexOf(end, from);
  return at === -1 ? -1 : at + end.length;
}

function sizeIn(tag: string): Size | null {
  const side = (name: string): number =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']\\s*([0-9.]{1,12})(px)?\\s*["']`).exec(tag)?.[1] ?? Number.NaN);
  const [, , , width, height] =
    /\sviewBox\s*=\s*["']\s*([-0-9.]+)[\s,]+([-0-9.]+)[\s,]+([0-9.]+)[\s,]+([0-9.]+)\s*["']/.exec(tag) ?? [];
  const size = [side("width"), side("height")] as const;
  if (size.every(Number.isFinite)) return [Math.round(size[0]), Math.round(size[1])];
  return width === undefined ? null : [Math.round(Number(width)), Math.round(Number(height))];
}
