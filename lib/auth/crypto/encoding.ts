/** Encodings of bytes as text, and of several texts as one unambiguous byte string. */

const base32Digits = "abcdefghijklmnopqrstuvwxyz234567";
const encoder = new TextEncoder();
/** Refuses malformed UTF-8 instead of replacing it, so that two inputs never decode to one text. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Encodes a text as UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/**
 * Decodes UTF-8.
 *
 * @throws {TypeError} The bytes are not UTF-8.
 */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Encodes bytes in RFC 4648 base32, in lower case without padding. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32Digits.charAt((buffer >>> bits) & 31);
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + base32Digits.charAt((buffer << (5 - bits)) & 31);
}

/** Encodes bytes in RFC 4648 base64url, without padding. */
export function base64url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Decodes base64url without padding; undefined for any other text. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/**
 * Joins texts unambiguously as netstrings: `<UTF-8 length>:<text>,` for every part.
 *
 * @throws {TypeError} A part has a lone surrogate, which UTF-8 cannot carry.
 */
export function netstrings(parts: readonly string[]): Uint8Array {
  let joined = "";
  for (const part of parts) {
    if (!part.isWellFormed()) throw new TypeError("Cannot encode a text with a lone surrogate");
    joined += `${utf8(part).length}:${part},`;
  }
  return utf8(joined);
}
