/**
 * E-mail addresses as names of users: when two spellings are one address, and under which key an address is known
 * where it must not be readable.
 *
 * @module
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { deriveKey, type MasterSecret } from "../../auth/mod.ts";

/**
 * The spelling under which an address is looked up: ASCII letters in lower case, everything else as it is.
 *
 * Nothing more is folded. Unicode's own folding makes one of texts that mail servers tell apart (`K`, the Kelvin sign,
 * becomes `k`), and then a code for one person's account reaches another person's mailbox.
 */
export function normaliseEmail(email: string): string {
  return email.replace(/[A-Z]+/g, letters => letters.toLowerCase());
}

/** The 32-byte key under which a project's addresses are hashed. */
export function emailHashKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "email", projectId);
}

/**
 * What an address is called where it must not be readable: HMAC-SHA-256 of its normalised spelling, 64 hexadecimal
 * digits. All spellings of one address give the same; other projects give another.
 */
export function emailKey(key: Uint8Array, email: string): string {
  return bytesToHex(hmac(sha256, key, new TextEncoder().encode(normaliseEmail(email))));
}
