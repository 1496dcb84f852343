/** The password of an export, and the key that is derived from it. */

import type { RandomBytes } from "../auth/mod.ts";
import { ivBytes, saltBytes } from "./header.ts";

/** Characters of a password: 190 bits. */
export const passwordCharacters = 32;
/** Rounds of PBKDF2-HMAC-SHA-256. */
export const keyIterations = 600_000;
/** Bytes of a key. */
export const keyBytes = 32;

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 62 in a byte. Bytes from there on are passed over, so that all characters are equally likely. */
const unbiasedMax = 248;

/** What is made anew for every file. */
export interface ExportSecret {
  /** {@linkcode passwordCharacters} of `A-Z`, `a-z` and `0-9`. */
  readonly password: string;
  readonly salt: Uint8Array;
  readonly iv: Uint8Array;
}

/** A new password, salt and initialization vector. */
export function newExportSecret(random: RandomBytes): ExportSecret {
  let password = "";
  while (password.length < passwordCharacters) {
    for (const byte of random(passwordCharacters)) {
      if (byte < unbiasedMax && password.length < passwordCharacters) password += alphabet[byte % 62];
    }
  }
  return { password, salt: random(saltBytes), iv: random(ivBytes) };
}

/** The key of a file, {@linkcode keyBytes} bytes, derived off the event loop by PBKDF2-HMAC-SHA-256 (RFC 8018). */
export async function exportKey(password: string, salt: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const material = await crypto.subtle.importKey("raw", new TextEncoder().encode(password), "PBKDF2", false, [
    "deriveBits",
  ]);
  const algorithm = {
    name: "PBKDF2",
    hash: "SHA-256",
    salt: Uint8Array.from(salt),
    iterations: keyIterations,
  };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, material, keyBytes * 8));
}
