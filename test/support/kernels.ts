/** Key derivation that costs nothing and counts its calls, for tests of everything around it. */

import { createHmac } from "node:crypto";
import type { Argon2idCost, KdfInput, ScryptCost } from "../../lib/auth/passwords/kernels.ts";
import type { PasswordKernels } from "../../lib/auth/passwords/mod.ts";

/** One derivation that was asked for. */
export type Derivation =
  | { readonly algorithm: "scrypt"; readonly cost: ScryptCost; readonly length: number }
  | { readonly algorithm: "argon2id"; readonly cost: Argon2idCost; readonly length: number };

/** Kernels that remember what they were asked. */
export interface CountingKernels extends PasswordKernels {
  readonly asked: Derivation[];
}

/** Deterministic kernels: another password, salt, algorithm or cost gives another key. */
export function quickKernels(): CountingKernels {
  const asked: Derivation[] = [];
  function derive({ password, salt, length }: KdfInput, derivation: Derivation): Uint8Array {
    asked.push(derivation);
    const { algorithm, cost } = derivation;
    const key = createHmac("sha512", JSON.stringify([algorithm, cost, [...salt]])).update(password);
    return new Uint8Array(key.digest().subarray(0, length));
  }
  return {
    asked,
    async scrypt(input, { logN, r, p }) {
      return derive(input, { algorithm: "scrypt", cost: { logN, r, p }, length: input.length });
    },
    async argon2id(input, { memoryKib, passes, parallelism }) {
      const cost = { memoryKib, passes, parallelism };
      return derive(input, { algorithm: "argon2id", cost, length: input.length });
    },
  };
}
