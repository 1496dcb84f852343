/**
 * Standard Base64 (RFC 4648, section 4) with padding, of large bytes as bytes. What concatenates needs pieces of a multiple
 * of three bytes.
 *
 * @module
 */

import type { ExportKernels } from "../ports/export_kernels.ts";

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const equalsSign = 61;
const digitCodes = new TextEncoder().encode(digits);

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
  return (kernels.base64 ?? portableBase64)(bytes);
}

/** The same in plain JavaScript. */
export function portableBase64(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  const whole = bytes.length - (bytes.length % 3);
  let to = 0;
  for (let from = 0; from < whole; from += 3) {
    to = write(text, to, ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0));
  }
  if (whole < bytes.length) {
    write(text, to, ((bytes[whole] ?? 0) << 16) | ((bytes[whole + 1] ?? 0) << 8));
    text.fill(equalsSign, text.length - 3 + (bytes.length - whole));
  }
  return text;
}

function write(text: Uint8Array, to: number, triple: number): number {
  text[to] = digitCodes[triple >>> 18] ?? 0;
  text[to + 1] = digitCodes[(triple >>> 12) & 63] ?? 0;
  text[to + 2] = digitCodes[(triple >>> 6) & 63] ?? 0;
  text[to + 3] = digitCodes[triple & 63] ?? 0;
  return to + 4;
}
