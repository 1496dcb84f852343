/** What the files are made with, from WebCrypto, or from noble where a runtime or a page has none. */

import type { GcmEncryption, GcmSecret } from "../ports/export_kernels.ts";
import { noblePrimitives } from "./noble_primitives.ts";
import { webPrimitives } from "./web_primitives.ts";

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

const standard: SubtleCrypto | undefined = globalThis.crypto?.subtle;
const webOfRuntime = standard === undefined ? null : webPrimitives(standard);

/**
 * WebCrypto's, or noble's where there is none: in pages that were not loaded over TLS.
 *
 * @param web Those of the runtime's WebCrypto, or null.
 */
export function primitives(web: Primitives | null = webOfRuntime): Primitives {
  return web ?? noblePrimitives;
}
