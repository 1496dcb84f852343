/**
 * Key derivation in plain JavaScript, for runtimes that lack it natively: the same bytes, slower, and in slices on the
 * event loop.
 *
 * @module
 */

import type { PasswordKernels } from "./kernels.ts";

/** Longest slice of a hash on the event loop, in ms. */
export const sliceMsMax = 10;

/** Both functions; each is loaded when it is first needed. */
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
