/**
 * Key derivation functions.
 *
 * A runtime may bring native ones, which run off the event loop and are several times faster. The portable ones give the
 * same bytes, in slices on the event loop.
 */

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

export interface PasswordKernels {
  readonly scrypt?: (input: KdfInput, cost: ScryptCost) => Promise<Uint8Array>;
  readonly argon2id?: (input: KdfInput, cost: Argon2idCost) => Promise<Uint8Array>;
  /**
   * Verifies a bcrypt hash, for accounts that are imported with one: `compare` of `bcryptjs` or `bcrypt`.
   *
   * @default imports refuse such hashes
   */
  readonly bcrypt?: (password: string, hash: string) => Promise<boolean>;
  /** Most hashes that may run at once without starving other work of the runtime. @default unknown */
  readonly concurrentMax?: number;
}

/** Longest slice of a hash on the event loop. */
const sliceMsMax = 10;

/** Portable functions, each loaded at first use. */
export const portableKernels: Required<Pick<PasswordKernels, "scrypt" | "argon2id">> = {
  async scrypt({ password, salt, length }, { logN, r, p }) {
    const { scryptAsync } = await import("@noble/hashes/scrypt.js");
    return await scryptAsync(password, salt, { N: 2 ** logN, r, p, dkLen: length, asyncTick: sliceMsMax });
  },
  async argon2id({ password, salt, length }, { memoryKib, passes, parallelism }) {
    const { argon2idAsync } = await import("@noble/hashes/argon2.js");
    return await argon2idAsync(password, salt, {
      m: memoryKib,
      t: passes,
      p: parallelism,
      dkLen: length,
      asyncTick: sliceMsMax,
    });
  },
};
