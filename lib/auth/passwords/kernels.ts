/**
 * The port through which a runtime brings its native key derivation functions, which run off the event loop and are
 * several times faster than portable ones.
 *
 * @module
 */

/** What is derived from what. */
export interface KdfInput {
  readonly password: Uint8Array;
  readonly salt: Uint8Array;
  /** Bytes of the derived key. */
  readonly length: number;
}

/** Cost of scrypt (RFC 7914). */
export interface ScryptCost {
  /** Binary logarithm of N. One hash takes 128 · N · r bytes. */
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/** Cost of Argon2id (RFC 9106), version 0x13. */
export interface Argon2idCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** The key derivation functions that a runtime has natively. All are asynchronous and leave the event loop free. */
export interface PasswordKernels {
  readonly scrypt?: (input: KdfInput, cost: ScryptCost) => Promise<Uint8Array>;
  readonly argon2id?: (input: KdfInput, cost: Argon2idCost) => Promise<Uint8Array>;
  /** How many hashes may run at once without starving other work of the runtime. Omitted: it does not say. */
  readonly concurrentMax?: number;
}
