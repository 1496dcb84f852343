/**
 * Passwords: how they are hashed and verified, how many hashes run at once, and which passwords may be chosen.
 *
 * @module
 */

export * from "./common_passwords.ts";
export {
  argon2idCostMax,
  type HashCost,
  type PasswordAlgorithm,
  passwordAlgorithms,
  passwordCosts,
  scryptCostMax,
} from "./cost.ts";
export * from "./gate.ts";
export * from "./hasher.ts";
export * from "./policy.ts";
export { sliceMsMax } from "./portable_kernels.ts";
