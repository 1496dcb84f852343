import type { Argon2idCost, ScryptCost } from "../../../lib/auth/passwords/kernels.ts";

/** The default cost, which takes more memory than OpenSSL gives unasked, that of codes, and many lanes. */
export const scryptSamples: readonly ScryptCost[] = [
  { logN: 15, r: 8, p: 3 },
  { logN: 14, r: 8, p: 1 },
  { logN: 4, r: 1, p: 10 },
];

/** The default cost, and the widest that is accepted with less memory. */
export const argon2idSamples: readonly Argon2idCost[] = [
  { memoryKib: 19_456, passes: 2, parallelism: 1 },
  { memoryKib: 64, passes: 3, parallelism: 4 },
];
