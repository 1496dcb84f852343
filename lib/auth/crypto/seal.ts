/**
 * Small texts sealed so that only holders of the key can read them and nobody can change or move them.
 *
 * AES-256-GCM with a random 96-bit nonce: one key may seal 2^32 texts (NIST SP 800-38D, section 8.3).
 *
 * @module
 */

import { gcm } from "@noble/ciphers/aes.js";
import { base64url, fromBase64url, fromUtf8, netstrings, utf8 } from "./encoding.ts";
import type { RandomBytes } from "../environment.ts";

/** Longest text that is sealed, in UTF-8 bytes. */
export const sealedTextBytesMax = 65_536;

const versionPrefix = "v1.";
const nonceBytes = 12;

/** What a sealed text is bound to: it opens only in the same context. */
export interface SealContext {
  /** Where the text belongs, for example the record and field that hold it. */
  readonly context: readonly string[];
}

/**
 * Seals a text under a 32-byte key, as `v1.<base64url of nonce, cipher text and tag>`.
 *
 * @throws {RangeError} The text is longer than {@linkcode sealedTextBytesMax}.
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

/** The text, or undefined where it was sealed under another key or context, was changed, or is not a sealed text. */
export function open(key: Uint8Array, sealed: string, options: SealContext): string | undefined {
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

function additionalData(context: readonly string[]): Uint8Array {
  return netstrings(["grandstand.seal.v1", ...context]);
}
