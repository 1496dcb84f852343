/**
 * E-mail addresses as identifiers: their normal form, and their keyed tags for places where they must not be readable.
 *
 * @module
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { deriveKey, type MasterSecret } from "../../auth/mod.ts";
import { canonicalEmail } from "../../base/text/mod.ts";

/**
 * Normalises an address for look-ups: ASCII letters in lower case, then its canonical form.
 *
 * Unicode's case folding makes one of texts that mail servers distinguish (`K`, the Kelvin sign, becomes `k`), and then
 * a code for one person's account would reach another person's mailbox.
 */
export function normaliseEmail(email: string): string {
  return canonicalEmail(email.replace(/[A-Z]+/g, letters => letters.toLowerCase()));
}

/** Derives the 32-byte key under which a project's addresses are hashed. */
export function emailHashKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "email", projectId);
}

/** Hashes an address with HMAC-SHA-256, 64 hexadecimal digits. All spellings of one address have one tag. */
export function emailTag(key: Uint8Array, email: string): string {
  return bytesToHex(hmac(sha256, key, new TextEncoder().encode(normaliseEmail(email))));
}
