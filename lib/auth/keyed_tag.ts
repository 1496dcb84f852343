/** Names for what must not be written down. */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, netstrings } from "./crypto/encoding.ts";

/**
 * What stands for a list of texts where they must not be readable: their HMAC-SHA-256, 43 characters of base64url. Only
 * who has the key can tell whether a tag belongs to a text.
 *
 * @throws {TypeError} A text has a lone surrogate.
 */
export function keyedTag(key: Uint8Array, parts: readonly string[]): string {
  return base64url(hmac(sha256, key, netstrings(parts)));
}
