/**
 * The media type of a file and the size of an image, from the first bytes. What a client or a name says of them counts for nothing, but
 * for the difference between kinds of text.
 *
 * @module
 */

/** Bytes from the beginning of a file that are looked at: enough for the large profiles that precede the size in a JPEG. */
export const headBytes = 262_144;

/** What the first bytes say of a file. */
export interface FileKind {
  readonly mime: string;
  /** Pixels of an image. */
  readonly width: number | null;
  readonly height: number | null;
}

type Size = readonly [width: number, height: number];

/** Beginnings of files: an offset and the text at it, one character for a byte. */
const signatures: readonly (readonly [offset: number, text: string, mime: string])[] = [
  [0, "\x89PNG\r\n\x1a\n", "image/png"],
  [0, "\xff\xd8\xff", "image/jpeg"],
  [0, "GIF87a", "image/gif"],
  [0, "GIF89a", "image/gif"],
  [0, "%PDF-", "application/pdf"],
  [0, "wOF2", "font/woff2"],
  [0, "wOFF", "font/woff"],
  [0, "OggS", "audio/ogg"],
  [0, "fLaC", "audio/flac"],
  [0, "ID3", "audio/mpeg"],
  [0, "PK\x03\x04", "application/zip"],
  [0, "\x1f\x8b", "application/gzip"],
];

/** Brands of the ISO base media format that are no MP4 video. */
const brands: Readonly<Record<string, string>> = {
  avif: "image/avif",
  avis: "image/avif",
  heic: "image/heic",
  heix: "image/heic",
  mif1: "image/heic",
  "M4A ": "audio/mp4",
  "qt  ": "video/quicktime",
};

const sizes: Readonly<Record<string, (head: Uint8Array, text: string) => Size | null>> = {
  "image/png": head => [uint(head, 16, 4), uint(head, 20, 4)],
  "image/gif": head => [little(head, 6, 2), little(head, 8, 2)],
  "image/jpeg": jpegSize,
  "image/webp": webpSize,
  "image/avif": boxedSize,
  "image/heic": boxedSize,
};

/** Returns the kind of a file. `isWhole` says that nothing follows its first bytes. */
export function kindOfFile(head: Uint8Array, name: string, isWhole: boolean): FileKind {
  const latin = latinText(head.subarray(0, 4_096));
  const mime = binaryType(head, latin);
  if (mime !== null) return sized(mime, sizes[mime]?.(head, latin) ?? null);
  const text = textOf(head, isWhole);
  if (text === null) return sized("application/octet-stream", null);
  const svg = svgTag(text);
  if (svg !== null) return sized("image/svg+xml", svgSize(svg));
  return sized(textType(text, name, isWhole), null);
}

function sized(mime: string, size: Size | null): FileKind {
  const isSize = size?.every(side => side > 0 && side < 1_000_000) === true;
  return { mime, width: isSize ? size[0] : null, height: isSize ? size[1] : null };
}

function binaryType(head: Uint8Array, latin: string): string | null {
  const found = signatures.find(([offset, text]) => latin.startsWith(text, offset));
  if (found !== undefined)
    return found[2] === "audio/ogg" && latin.includes("theora") ? "video/ogg" : found[2];
  if (latin.startsWith("RIFF")) return { WEBP: "image/webp", WAVE: "audio/wav" }[latin.slice(8, 12)] ?? null;
  if (latin.startsWith("ftyp", 4)) return mediaBrand(head, latin);
  if (latin.startsWith("\x1aE\xdf\xa3"))
    return latin.slice(0, 64).includes("webm") ? "video/webm" : "video/x-matroska";
  // A frame of MPEG layer III without an ID3 tag in front.
  const [first = 0, second = 0] = head;
  return first === 0xff && (second & 0xe6) === 0xe2 ? "audio/mpeg" : null;
}

/** The major brand decides, unless it is a general one: then the compatible ones. */
function mediaBrand(head: Uint8Array, latin: string): string {
  const length = Math.min(uint(head, 0, 4), 256);
  const names = latin.slice(8, length).match(/.{4}/gs) ?? [];
  if (names.some(name => name === "avif" || name === "avis")) return "image/avif";
  return brands[names[0] ?? ""] ?? "video/mp4";
}

/** Walks the segments of a JPEG up to the one with the size. */
function jpegSize(head: Uint8Array): Size | null {
  for (let at = 2; at + 9 < head.length; ) {
    if (head[at] !== 0xff) return null;
    const marker = head[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [uint(head, at + 7, 2), uint(head, at + 5, 2)];
    at += marker === 0xff ? 1 : 2 + uint(head, at + 2, 2);
  }
  return null;
}

function webpSize(head: Uint8Array, latin: string): Size | null {
  const form = latin.slice(12, 16);
  if (form === "VP8X") return [little(head, 24, 3) + 1, little(head, 27, 3) + 1];
  if (form === "VP8 ") return [little(head, 26, 2) & 0x3fff, little(head, 28, 2) & 0x3fff];
  const bits = little(head, 21, 4);
  return form === "VP8L" ? [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1] : null;
}

/** The property `ispe` of the first picture has its size. */
function boxedSize(head: Uint8Array, latin: string): Size | null {
  const at = latin.indexOf("ispe");
  return at === -1 ? null : [uint(head, at + 8, 4), uint(head, at + 12, 4)];
}

/** Returns the bytes as text, or null if they are none. */
function textOf(head: Uint8Array, isWhole: boolean): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: !isWhole });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary files from texts
    return /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

function textType(text: string, name: string, isWhole: boolean): string {
  if (text.startsWith("WEBVTT")) return "text/vtt";
  if (/^\s*[[{]/.test(text) && (isWhole ? isJson(text) : /\.json$/i.test(name))) return "application/json";
  return /\.csv$/i.test(name) ? "text/csv" : "text/plain";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the root tag of an SVG. Declarations and comments before it are skipped. */
function svgTag(text: string): string | null {
  let at = 0;
  for (;;) {
    while (/\s/.test(text.charAt(at))) at++;
    const end = skipped.find(([start]) => text.startsWith(start, at))?.[1];
    if (end === undefined) break;
    const found = text.indexOf(end, at);
    if (found === -1) return null;
    at = found + end.length;
  }
  return /^<svg[\s>][^>]{0,4096}/.exec(text.slice(at, at + 4_200))?.[0] ?? null;
}

/** What may precede the root of an SVG, and how each ends. */
const skipped = [
  ["<?xml", "?>"],
  ["<!--", "-->"],
  ["<!DOCTYPE svg", ">"],
] as const;

function svgSize(tag: string): Size | null {
  const side = (name: string): number =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']\\s*([0-9.]{1,12})(px)?\\s*["']`).exec(tag)?.[1] ?? Number.NaN);
  const [, , , width, height] =
    /\sviewBox\s*=\s*["']\s*([-0-9.]+)[\s,]+([-0-9.]+)[\s,]+([0-9.]+)[\s,]+([0-9.]+)\s*["']/.exec(tag) ?? [];
  const size = [side("width"), side("height")] as const;
  if (size.every(Number.isFinite)) return [Math.round(size[0]), Math.round(size[1])];
  return width === undefined ? null : [Math.round(Number(width)), Math.round(Number(height))];
}

function latinText(bytes: Uint8Array): string {
  return Array.from(bytes, byte => String.fromCharCode(byte)).join("");
}

/** Reads a number whose highest byte comes first. */
function uint(bytes: Uint8Array, at: number, length: number): number {
  return bytes.subarray(at, at + length).reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Reads a number whose lowest byte comes first. */
function little(bytes: Uint8Array, at: number, length: number): number {
  return uint(bytes.slice(at, at + length).reverse(), 0, length);
}
