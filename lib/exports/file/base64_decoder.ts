/** Canonical Base64 (RFC 4648, section 4) from bytes, piece by piece: no white space, padding where it belongs, no stray bits. */

import { AppError } from "../../errors/mod.ts";

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const padding = 61;
/** More than six bits: or-ed into a quantum, it shows. */
const noDigit = 64;
const values = new Uint8Array(256).fill(noDigit);
for (let value = 0; value < digits.length; value++) values[digits.charCodeAt(value)] = value;

/** Decodes a text of known end. */
export class Base64Decoder {
  #isOver = false;

  /**
   * The bytes of the next digits, a multiple of four of them.
   *
   * @throws {AppError} `validation_failed`: they are not canonical Base64, or digits follow the padding.
   */
  update(text: Uint8Array): Uint8Array {
    if (text.length === 0) return new Uint8Array(0);
    if (this.#isOver || text.length % 4 !== 0) throw malformed();
    const pads = text[text.length - 1] !== padding ? 0 : text[text.length - 2] !== padding ? 1 : 2;
    this.#isOver = pads > 0;
    const bytes = new Uint8Array((text.length / 4) * 3);
    const whole = pads === 0 ? text.length : text.length - 4;
    if (decode(text.subarray(0, whole), bytes) >= noDigit) throw malformed();
    if (pads === 0) return bytes;
    decodeLast(text.subarray(whole), bytes.subarray((whole / 4) * 3), pads);
    return bytes.subarray(0, bytes.length - pads);
  }
}

/** Decodes digits without padding, and answers all their values or-ed. */
function decode(text: Uint8Array, bytes: Uint8Array): number {
  let seen = 0;
  for (let from = 0, to = 0; from < text.length; from += 4, to += 3) {
    const a = values[text[from] ?? 0] ?? noDigit;
    const b = values[text[from + 1] ?? 0] ?? noDigit;
    const c = values[text[from + 2] ?? 0] ?? noDigit;
    const d = values[text[from + 3] ?? 0] ?? noDigit;
    seen |= a | b | c | d;
    bytes[to] = (a << 2) | (b >> 4);
    bytes[to + 1] = (b << 4) | (c >> 2);
    bytes[to + 2] = (c << 6) | d;
  }
  return seen;
}

/** Decodes the last four digits, of which `pads` are padding. */
function decodeLast(text: Uint8Array, bytes: Uint8Array, pads: number): void {
  const zero = digits.charCodeAt(0);
  const filled = Uint8Array.from(text, (digit, index) => (index < 4 - pads ? digit : zero));
  const isCanonical = decode(filled, bytes) < noDigit && bytes.subarray(3 - pads).every(byte => byte === 0);
  if (!isCanonical) throw malformed();
}

function malformed(): AppError {
  return new AppError(
    "validation_failed",
    "Cannot read the export: its encryptedData is no canonical Base64",
  );
}
