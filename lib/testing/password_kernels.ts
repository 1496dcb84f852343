/** Passwords of tests, hashed in microseconds. */

import { hmac } from "@noble/hashes/hmac.js";
import { sha512 } from "@noble/hashes/sha2.js";
import type { KdfInput } from "../auth/passwords/kernels.ts";
import type { PasswordKernels } from "../auth/passwords/mod.ts";

async function derive({ password, salt, length }: KdfInput): Promise<Uint8Array> {
  return hmac(sha512, salt, password).subarray(0, length);
}

/** Kernels that cost nothing and protect nothing. */
export const cheapKernels: PasswordKernels = { scrypt: derive, argon2id: derive };
