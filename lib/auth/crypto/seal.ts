/**
 * Sealed texts and keyed tags.
 *
 * A sealed text can be read by holders of the key only, and opens only in its own context. It is AES-256-GCM with a
 * random 96-bit nonce: one key may seal 2^32 texts (NIST SP 800-38D, section 8.3).
 *
 * @module
 */

import { gcm } from "@noble/ciphers/aes.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { RandomBytes } from "../environment.ts";
import { base64url, fromBase64url, fromUtf8, netstrings, utf8 } from "./encoding.ts";

const sealedTextBytesMax = 65_536;
const versionPrefix = "v1.";
const nonceBytes = 12;

/** The place that a sealed text is bound to. */
export interface SealContext {
  /** For example the record and field that hold the text. */
  readonly context: readonly string[];
}

/**
 * Seals a text under a 32-byte key, as `v1.<base64url of nonce, cipher text and tag>`.
 *
 * @throws {RangeError} The text is longer than 65,536 UTF-8 bytes.
 */
export function seal(
  key: Uint8Array,
  text: string,
  options: SealContext & { readonly random: RandomBytes },
): string {
  const plain = utf8(text);
  if (plain.length > sealedTextBytesMax) {
    throw new RangeError(`Cannot seal ${plain.length} bytes, at most ${sealedTextBytesMax} are allowed`);
  }
  const nonce = options.random(nonceBytes);
  const body = gcm(key, nonce, additionalData(options.context)).encrypt(plain);
  const sealed = new Uint8Array(nonceBytes + body.length);
  sealed.set(nonce);
  sealed.set(body, nonceBytes);
  return versionPrefix + base64url(sealed);
}

/** Opens a sealed text; undefined if the key or the context differs or the text was changed. */
export function unseal(key: Uint8Array, sealed: string, options: SealContext): string | undefined {
  if (!sealed.startsWith(versionPrefix)) return undefined;
  const bytes = fromBase64url(sealed.slice(versionPrefix.length));
  if (bytes === undefined || bytes.length <= nonceBytes) return undefined;
  const cipher = gcm(key, bytes.subarray(0, nonceBytes), additionalData(options.context));
  try {
    return fromUtf8(cipher.decrypt(bytes.subarray(nonceBytes)));
  } catch {
    return undefined;
  }
}

/**
 * Replaces texts that must not be stored readably by their HMAC-SHA-256, 43 characters of base64url.
 *
 * @throws {TypeError} A text has a lone surrogate.
 */
export function keyedTag(key: Uint8Array, parts: readonly string[]): string {
  return base64url(hmac(sha256, key, netstrings(parts)));
}

function additionalData(context: readonly string[]): Uint8Array {
  return netstrings(["grandstand.seal.v1", ...context]);
}
