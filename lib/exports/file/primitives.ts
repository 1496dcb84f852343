/** What the files are made with. */

import type { GcmEncryption, GcmSecret } from "./kernels.ts";

/** Rounds of PBKDF2-HMAC-SHA-256. */
export const keyIterations = 600_000;
/** Bytes of a key. */
export const keyBytes = 32;

/** Functions of which every implementation gives the same bytes. */
export interface Primitives {
  /** Begins an encryption by AES-256-GCM. */
  gcm(secret: GcmSecret): GcmEncryption;
  /** The bytes under the key stream of AES-256-CTR that begins with a counter block. */
  ctr(key: Uint8Array, counter: Uint8Array, bytes: Uint8Array): Promise<Uint8Array>;
  /** 32 bytes by PBKDF2-HMAC-SHA-256 (RFC 8018). */
  pbkdf2(password: Uint8Array, salt: Uint8Array, iterations: number): Promise<Uint8Array>;
}
