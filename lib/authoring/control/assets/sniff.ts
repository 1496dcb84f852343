/**
 * The media type of a file, and the size of a GIF or SVG, from the first bytes. What a client or a name says of them counts for nothing,
 * but for the difference between kinds of text.
 */

import { parsedJson } from "../../../base/json/mod.ts";
import type { Size } from "./byte_flow.ts";
import { ascii, uint } from "./bytes.ts";
import { readDrawing } from "./drawings.ts";

/** Bytes from the beginning of a file that are looked at. */
export const headBytes = 262_144;

/** What the first bytes say of a file. */
export interface FileKind {
  readonly mime: string;
  readonly width: number | null;
  readonly height: number | null;
}

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
  heim: "image/heic",
  heis: "image/heic",
  heix: "image/heic",
  hevc: "image/heic",
  hevx: "image/heic",
  mif1: "image/heic",
  msf1: "image/heic",
  "M4A ": "audio/mp4",
  "qt  ": "video/quicktime",
};

/** Returns the kind of a file. `isWhole` says that nothing follows its first bytes. */
export function kindOfFile(head: Uint8Array, name: string, isWhole: boolean): FileKind {
  const latin = ascii(head, 0, 4_096);
  const mime = binaryType(head, latin);
  if (mime === "image/gif") return sized(mime, [uint(head, 6, 2, true), uint(head, 8, 2, true)]);
  if (mime !== null) return sized(mime, null);
  const drawing = readDrawing(head);
  if (drawing !== null) return sized("image/svg+xml", drawing.size);
  const text = textOf(head, isWhole);
  return sized(text === null ? "application/octet-stream" : textType(text, name, isWhole), null);
}

export function sized(mime: string, size: Size | null): FileKind {
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
  if (/^\s*[[{]/.test(text) && (isWhole ? parsedJson(text) !== undefined : /\.json$/i.test(name)))
    return "application/json";
  return /\.csv$/i.test(name) ? "text/csv" : "text/plain";
}
