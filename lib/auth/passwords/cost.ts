/**
 * What a password hash costs: the algorithms, their defaults, and the bounds of what is accepted from the store.
 *
 * @module
 */

import type { Argon2idCost, ScryptCost } from "./kernels.ts";

/** An algorithm with its cost. */
export type HashCost =
  | ({ readonly algorithm: "scrypt" } & ScryptCost)
  | ({ readonly algorithm: "argon2id" } & Argon2idCost);

/** How passwords may be hashed. */
export const passwordAlgorithms: readonly ["scrypt", "argon2id"] = ["scrypt", "argon2id"];
/** How passwords are hashed. */
export type PasswordAlgorithm = (typeof passwordAlgorithms)[number];

/** Cost of new hashes: for each algorithm a row of the OWASP Password Storage Cheat Sheet. */
export const passwordCosts: Readonly<Record<PasswordAlgorithm, HashCost>> = {
  scrypt: { algorithm: "scrypt", logN: 15, r: 8, p: 3 },
  argon2id: { algorithm: "argon2id", memoryKib: 19_456, passes: 2, parallelism: 1 },
};

/** Most work of a scrypt hash that is computed, so that a hash from elsewhere cannot exhaust a process. */
export const scryptCostMax: ScryptCost = { logN: 17, r: 16, p: 10 };
/** Most work of an Argon2id hash that is computed: 256 MiB. */
export const argon2idCostMax: Argon2idCost = { memoryKib: 262_144, passes: 10, parallelism: 4 };
/** Least memory of Argon2id per lane, in KiB (RFC 9106, section 3.1). */
const laneKibMin = 8;

/** Whether a cost is one that both native and portable functions compute, within the bounds. */
export function isBounded(cost: HashCost): boolean {
  if (cost.algorithm === "scrypt") {
    const { logN, r, p } = scryptCostMax;
    return isIn(cost.logN, 1, logN) && isIn(cost.r, 1, r) && isIn(cost.p, 1, p);
  }
  const { memoryKib, passes, parallelism } = argon2idCostMax;
  return (
    isIn(cost.parallelism, 1, parallelism) &&
    isIn(cost.memoryKib, laneKibMin * cost.parallelism, memoryKib) &&
    isIn(cost.passes, 1, passes)
  );
}

function isIn(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
