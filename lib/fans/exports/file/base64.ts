/**
 * Standard Base64 (RFC 4648, section 4) with padding, of large data as ASCII bytes. Pieces of a multiple of three bytes
 * concatenate. Table look-ups, because `btoa` and `atob` take five to twelve times as long.
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { ExportKernels } from "./kernels.ts";

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const digitCodes = new TextEncoder().encode(digits);
const padding = 61;
/** Exceeds six bits, so that one invalid digit shows in the union of all values. */
const invalid = 64;
const values = new Uint8Array(256).fill(invalid);
for (let value = 0; value < digits.length; value++) values[digits.charCodeAt(value)] = value;

export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Decodes canonical Base64; returns undefined for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  return decode(new TextEncoder().encode(text));
}

/** Encodes bytes as ASCII bytes, by the native function if there is one. */
export function base64Bytes(bytes: Uint8Array, kernels: Pick<ExportKernels, "base64"> = {}): Uint8Array {
  if (kernels.base64 !== undefined) return kernels.base64(bytes);
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const group = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    text[to] = digitCodes[group >>> 18] ?? 0;
    text[to + 1] = digitCodes[(group >>> 12) & 63] ?? 0;
    text[to + 2] = digitCodes[(group >>> 6) & 63] ?? 0;
    text[to + 3] = digitCodes[group & 63] ?? 0;
  }
  const rest = bytes.length % 3;
  if (rest > 0) text.fill(padding, text.length - 3 + rest);
  return text;
}

/** Decodes canonical Base64 that arrives piece by piece. */
export class Base64Decoder {
  #isPadded = false;

  /**
   * Decodes the next digits, a multiple of four of them.
   *
   * @throws {AppError} `validation_failed`: they are not canonical Base64, or follow padding.
   */
  update(text: Uint8Array): Uint8Array {
    const bytes = this.#isPadded && text.length > 0 ? undefined : decode(text);
    if (bytes === undefined) {
      throw new AppError(
        "validation_failed",
        "Cannot read the export: its encryptedData is not canonical Base64",
      );
    }
    this.#isPadded ||= bytes.length * 4 < text.length * 3;
    return bytes;
  }
}

function decode(text: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0) return undefined;
  const pads = text.at(-1) !== padding ? 0 : text.at(-2) !== padding ? 1 : 2;
  const bytes = new Uint8Array((text.length / 4) * 3);
  const whole = pads === 0 ? text.length : text.length - 4;
  if (decodeDigits(text.subarray(0, whole), bytes) >= invalid) return undefined;
  if (pads === 0) return bytes;
  const last = Uint8Array.from(text.subarray(whole), (digit, index) =>
    index < 4 - pads ? digit : digits.charCodeAt(0),
  );
  if (decodeDigits(last, bytes.subarray((whole / 4) * 3)) >= invalid) return undefined;
  // Bits that the padding leaves unused are zero in canonical text.
  const end = bytes.length - pads;
  return bytes.subarray(end).every(byte => byte === 0) ? bytes.subarray(0, end) : undefined;
}

/** Decodes digits without padding and returns the union of their values. */
function decodeDigits(text: Uint8Array, bytes: Uint8Array): number {
  let union = 0;
  for (let from = 0, to = 0; from < text.length; from += 4, to += 3) {
    const a = values[text[from] ?? 0] ?? invalid;
    const b = values[text[from + 1] ?? 0] ?? invalid;
    const c = values[text[from + 2] ?? 0] ?? invalid;
    const d = values[text[from + 3] ?? 0] ?? invalid;
    union |= a | b | c | d;
    bytes[to] = (a << 2) | (b >> 4);
    bytes[to + 1] = (b << 4) | (c >> 2);
    bytes[to + 2] = (c << 6) | d;
  }
  return union;
}
