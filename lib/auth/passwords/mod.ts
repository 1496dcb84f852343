/**
 * Passwords: hashing, the gate before it, and the policy for new ones.
 *
 * @module
 */

export { concurrentHashesDefault, createHashGate, gatedHasher } from "./gate.ts";
export {
  type HashCost,
  type PasswordAlgorithm,
  passwordAlgorithms,
  passwordCosts,
} from "./hash_format.ts";
export { createPasswordHasher, dummyHash, type PasswordHasher } from "./hasher.ts";
export type { PasswordKernels } from "./kernels.ts";
export { checkPassword, type PasswordPolicy, passwordUnitsMax } from "./policy.ts";
