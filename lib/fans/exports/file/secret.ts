/** The password of an export, and the key derived from it. */

import type { RandomBytes } from "../../../auth/mod.ts";
import { ivBytes, saltBytes } from "./header.ts";

/** Rounds of PBKDF2-HMAC-SHA-256. */
export const keyIterations = 600_000;
/** Characters of a password: 190 bits. */
const passwordCharacters = 32;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 62 in a byte. Larger bytes are skipped, so that all characters are equally likely. */
const unbiasedMax = 248;
/** Longest slice of a key derivation on the event loop, in ms. */
const derivationSliceMs = 10;

export interface ExportSecret {
  /** 32 characters of `A-Z`, `a-z` and `0-9`. */
  readonly password: string;
  readonly salt: Uint8Array;
  readonly iv: Uint8Array;
}

/** Generates a password, salt and initialization vector. */
export function newExportSecret(random: RandomBytes): ExportSecret {
  let password = "";
  while (password.length < passwordCharacters) {
    for (const byte of random(passwordCharacters)) {
      if (byte < unbiasedMax && password.length < passwordCharacters) password += alphabet[byte % 62];
    }
  }
  return { password, salt: random(saltBytes), iv: random(ivBytes) };
}

/** Derives the key of a file, 32 bytes, by PBKDF2-HMAC-SHA-256. */
export async function exportKey(password: string, salt: Uint8Array): Promise<Uint8Array> {
  const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;
  const input = { password: new TextEncoder().encode(password), salt, iterations: keyIterations };
  return subtle === undefined ? await noblePbkdf2(input) : await webPbkdf2(subtle, input);
}

export interface Pbkdf2Input {
  readonly password: Uint8Array;
  readonly salt: Uint8Array;
  readonly iterations: number;
}

/** Derives 32 bytes by WebCrypto, off the event loop. */
export async function webPbkdf2(
  subtle: SubtleCrypto,
  { password, salt, iterations }: Pbkdf2Input,
): Promise<Uint8Array> {
  const material = await subtle.importKey("raw", Uint8Array.from(password), "PBKDF2", false, ["deriveBits"]);
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt: Uint8Array.from(salt), iterations };
  return new Uint8Array(await subtle.deriveBits(algorithm, material, 256));
}

/** Derives 32 bytes by noble, in slices, for pages without WebCrypto: those that were not loaded over TLS. */
export async function noblePbkdf2({ password, salt, iterations }: Pbkdf2Input): Promise<Uint8Array> {
  const { pbkdf2Async, sha256 } = await import("./noble.ts");
  return await pbkdf2Async(sha256, password, salt, {
    c: iterations,
    dkLen: 32,
    asyncTick: derivationSliceMs,
  });
}
