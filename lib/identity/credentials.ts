import type { Clock, MasterSecret, RandomBytes } from "../auth/mod.ts";
import {
  concurrentHashesDefault,
  createHashGate,
  createPasswordHasher,
  gatedHasher,
  type PasswordAlgorithm,
  type PasswordHasher,
  type PasswordKernels,
  type PasswordPolicy,
  passwordCosts,
} from "../auth/passwords/mod.ts";
import type { Store } from "../storage/mod.ts";
import { type Codes, codeCost, createCodes } from "./codes/codes.ts";

/** What proves a user of the managed pool. */
export interface Credentials {
  /** Hashes and verifies passwords behind the gate of the process. */
  readonly hasher: PasswordHasher;
  readonly passwordPolicy: PasswordPolicy;
  readonly codes: Codes;
}

/** What credentials are made of. */
export interface CredentialsOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** @default {} */
  readonly kernels?: PasswordKernels;
  /** How new passwords are hashed. @default "scrypt" */
  readonly algorithm?: PasswordAlgorithm;
  /** @default {} */
  readonly policy?: PasswordPolicy;
}

/**
 * Creates the credentials of a platform. Passwords and codes share one gate, because they share the threads behind it.
 *
 * @throws {RangeError} Argon2id is asked for and the kernels lack it.
 */
export function createCredentials(options: CredentialsOptions): Credentials {
  const { kernels = {}, algorithm = "scrypt", policy = {}, random } = options;
  const gate = createHashGate({ concurrentMax: concurrentMaxOf(kernels) });
  const passwords = createPasswordHasher({ random, kernels, cost: passwordCosts[algorithm] });
  const codeHasher = createPasswordHasher({ random, kernels, cost: codeCost });
  return {
    hasher: gatedHasher(passwords, gate),
    passwordPolicy: policy,
    codes: createCodes({ ...options, hasher: gatedHasher(codeHasher, gate) }),
  };
}

/** Portable hashes share the event loop: two at once would take twice as long each, and hold it up twice as long. */
function concurrentMaxOf({ scrypt, concurrentMax }: PasswordKernels): number {
  return scrypt === undefined ? 1 : (concurrentMax ?? concurrentHashesDefault);
}
