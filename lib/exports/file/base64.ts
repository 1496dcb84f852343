/**
 * Standard Base64 (RFC 4648, section 4) with padding, of large bytes as bytes. What concatenates needs pieces of a multiple
 * of three bytes.
 *
 * @module
 */

import type { ExportKernels } from "./kernels.ts";

/** Bytes that become text at once, so that the text of large bytes never exists as a whole; a multiple of three. */
export const base64SliceBytes = 196_608;

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const padding = 61;
const encoder = new TextEncoder();
const digitCodes = encoder.encode(digits);

/** What runtimes have that have ECMAScript 2026. */
interface WithBase64 {
  toBase64(): string;
}

/** The Base64 of a few bytes as text. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The bytes of canonical Base64, or undefined where the text is anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(text), char => char.charCodeAt(0));
  return base64(bytes) === text ? bytes : undefined;
}

/** The Base64 of bytes as ASCII bytes, by the native function where it is brought. */
export function base64Bytes(bytes: Uint8Array, kernels: Pick<ExportKernels, "base64"> = {}): Uint8Array {
  if (kernels.base64 !== undefined) return kernels.base64(bytes);
  return hasBase64(bytes) ? standardBase64(bytes) : portableBase64(bytes);
}

/** The same by the method that newer runtimes have. */
export function standardBase64(bytes: Uint8Array & WithBase64): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(textLength(bytes));
  let to = 0;
  for (let from = 0; from < bytes.length; from += base64SliceBytes) {
    const slice = bytes.subarray(from, from + base64SliceBytes);
    if (hasBase64(slice)) to += encoder.encodeInto(slice.toBase64(), text.subarray(to)).written;
  }
  return text;
}

/** The same in plain JavaScript. */
export function portableBase64(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(textLength(bytes));
  const whole = bytes.length - (bytes.length % 3);
  let to = 0;
  for (let from = 0; from < whole; from += 3) {
    write(text, to, ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0));
    to += 4;
  }
  if (whole < bytes.length) {
    write(text, to, ((bytes[whole] ?? 0) << 16) | ((bytes[whole + 1] ?? 0) << 8));
    text.fill(padding, text.length - 3 + (bytes.length - whole));
  }
  return text;
}

/** Whether bytes have the method of newer runtimes. */
export function hasBase64(bytes: Uint8Array): bytes is Uint8Array & WithBase64 {
  return "toBase64" in bytes;
}

function textLength(bytes: Uint8Array): number {
  return Math.ceil(bytes.length / 3) * 4;
}

function write(text: Uint8Array, to: number, triple: number): void {
  text[to] = digitCodes[triple >>> 18] ?? 0;
  text[to + 1] = digitCodes[(triple >>> 12) & 63] ?? 0;
  text[to + 2] = digitCodes[(triple >>> 6) & 63] ?? 0;
  text[to + 3] = digitCodes[triple & 63] ?? 0;
}
