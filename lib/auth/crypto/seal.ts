/**
 * Sealed texts and keyed tags.
 *
 * A sealed text can be read by holders of the key only, and opens only in its own context. It is AES-256-GCM with a
 * random 96-bit nonce: one key may seal 2^32 texts (NIST SP 800-38D, section 8.3).
 *
 * @module
 */

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
export async function seal(
  key: Uint8Array,
  text: string,
  options: SealContext & { readonly random: RandomBytes },
): Promise<string> {
  const plain = utf8(text);
  if (plain.length > sealedTextBytesMax) {
    throw new RangeError(`Cannot seal ${plain.length} bytes, at most ${sealedTextBytesMax} are allowed`);
  }
  const nonce = options.random(nonceBytes);
  const encrypting = await importKey(key, "encrypt");
  const body = await crypto.subtle.encrypt(gcm(nonce, options), encrypting, Uint8Array.from(plain));
  const sealed = new Uint8Array(nonceBytes + body.byteLength);
  sealed.set(nonce);
  sealed.set(new Uint8Array(body), nonceBytes);
  return versionPrefix + base64url(sealed);
}

/** Opens a sealed text; undefined if the key or the context differs or the text was changed. */
export async function unseal(
  key: Uint8Array,
  sealed: string,
  options: SealContext,
): Promise<string | undefined> {
  if (!sealed.startsWith(versionPrefix)) return undefined;
  const bytes = fromBase64url(sealed.slice(versionPrefix.length));
  if (bytes === undefined || bytes.length <= nonceBytes) return undefined;
  const decrypting = await importKey(key, "decrypt");
  try {
    const algorithm = gcm(bytes.subarray(0, nonceBytes), options);
    const plain = await crypto.subtle.decrypt(algorithm, decrypting, bytes.slice(nonceBytes));
    return fromUtf8(new Uint8Array(plain));
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

async function importKey(key: Uint8Array, usage: "encrypt" | "decrypt"): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", Uint8Array.from(key), "AES-GCM", false, [usage]);
}

function gcm(nonce: Uint8Array, { context }: SealContext): AesGcmParams {
  const additionalData = Uint8Array.from(netstrings(["grandstand.seal.v1", ...context]));
  return { name: "AES-GCM", iv: Uint8Array.from(nonce), additionalData };
}
