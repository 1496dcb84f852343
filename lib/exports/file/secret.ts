/** The password of an export, and the key that is derived from it. */

import type { RandomBytes } from "../../auth/mod.ts";
import { ivBytes, saltBytes } from "./header.ts";
import { primitives } from "./portable_primitives.ts";
import { keyIterations } from "./primitives.ts";

/** Characters of a password: 190 bits. */
export const passwordCharacters = 32;

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

/** The key of a file, {@linkcode keyBytes} bytes, derived by PBKDF2-HMAC-SHA-256 off the event loop, or in slices on it. */
export async function exportKey(password: string, salt: Uint8Array): Promise<Uint8Array> {
  return await primitives().pbkdf2(new TextEncoder().encode(password), salt, keyIterations);
}
