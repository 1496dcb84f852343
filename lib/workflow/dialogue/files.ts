/** Files, images and colours in the protocol. */

import { isLoopback } from "../../base/text/mod.ts";
import { dialogueLimits } from "./limits.ts";

/** Media types of images, as a backend and a frontend may send them. */
export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Characters that are encoded at a time: `String.fromCharCode` takes no more arguments. */
const chunkBytes = 0x8000;
const base64 = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/;
/** Bounded: an open repetition would look at a long run of `=` once from each of its characters. */
const padding = /={1,2}$/;
const dataPrefix = /^data:[a-z0-9.+/-]*(?:;[a-z]+=[a-z0-9-]*)*;base64,/i;
const dataImage = /^data:(image\/(?:png|jpeg|gif|webp));base64,/;

/** Encodes bytes as the value of a file input: Base64 without a prefix. */
export function encodeFile(bytes: Uint8Array): string {
  let latin = "";
  for (let at = 0; at < bytes.length; at += chunkBytes)
    latin += String.fromCharCode(...bytes.subarray(at, at + chunkBytes));
  return btoa(latin);
}

/** Returns the number of bytes that a Base64 text stands for, without decoding it. */
export function fileBytes(text: string): number {
  const { length } = text.slice(prefixLength(text)).replace(padding, "");
  return Math.floor((length * 3) / 4);
}

/**
 * Decodes the value of a file input: standard or URL alphabet, with or without padding and `data:` prefix.
 *
 * @throws {RangeError} It has more bytes.
 * @throws {SyntaxError} It is no Base64.
 */
export function decodeFile(text: string, bytesMax: number = dialogueLimits.fileBytesMax): Uint8Array {
  if (fileBytes(text) > bytesMax) throw new RangeError(`It has more than ${bytesMax} bytes`);
  const body = text.slice(prefixLength(text));
  const digits = body.replace(padding, "").length % 4;
  const isPadded = !body.includes("=") || body.length % 4 === 0;
  if (!base64.test(body) || digits === 1 || !isPadded) throw new SyntaxError("It is no Base64");
  const latin = atob(body.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(latin.length);
  for (let at = 0; at < latin.length; at++) bytes[at] = latin.charCodeAt(at);
  return bytes;
}

function prefixLength(text: string): number {
  return dataPrefix.exec(text.slice(0, 200))?.[0].length ?? 0;
}

/** Returns the media type of an image by its first bytes, or null for any other file. SVG is none, as it can run script. */
export function imageType(bytes: Uint8Array): ImageType | null {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : null;
}

/** Returns true for the address of an image that frontends load: https, http on this machine, or a `data:` address of its own type. */
export function isImageUrl(url: string): boolean {
  const inline = dataImage.exec(url);
  if (inline !== null) return isInlineImage(url, inline[1] ?? "");
  if (url.length > dialogueLimits.urlCharactersMax || !URL.canParse(url)) return false;
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isInlineImage(url: string, type: string): boolean {
  if (url.length > dialogueLimits.imageBytesMax * 2) return false;
  try {
    return imageType(decodeFile(url, dialogueLimits.imageBytesMax)) === type;
  } catch {
    return false;
  }
}

/** Returns true for a colour of the protocol: `#rgb`, `#rrggbb` or `#rrggbbaa`. */
export function isColour(value: string): boolean {
  return /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(value);
}
