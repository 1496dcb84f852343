/**
 * Password hashing: scrypt by default, Argon2id where a deployment chooses it, both verified everywhere.
 *
 * Every verification runs exactly one key derivation, also for a stored text that is malformed or beyond the bounds, so
 * that its duration tells nothing of what is stored.
 *
 * @module
 */

import { utf8 } from "../crypto/encoding.ts";
import type { RandomBytes } from "../environment.ts";
import { constantTimeEqual } from "../crypto/ids.ts";
import { type HashCost, isBounded, passwordCosts } from "./cost.ts";
import type { PasswordKernels } from "./kernels.ts";
import { formatPhc, type ParsedHash, parsePhc, phcPrefix } from "./hash_format.ts";
import { portableKernels } from "./portable_kernels.ts";

/** Bytes of the salt of a new hash. */
export const saltBytes = 16;
/** Bytes of the derived key of a new hash. */
export const keyBytes = 32;

/** Hashes and verifies passwords. */
export interface PasswordHasher {
  /** Algorithm and cost of new hashes, as the beginning of a PHC string: `$scrypt$ln=15,r=8,p=3`. */
  readonly id: string;
  /**
   * A PHC string.
   *
   * @throws {TypeError} The password has a lone surrogate.
   */
  hash(password: string): Promise<string>;
  /** Whether the password fits; runs exactly one KDF whatever the stored string is. */
  verify(phc: string, password: string): Promise<Verification>;
}

/** The outcome of a verification. */
export interface Verification {
  readonly ok: boolean;
  /** Whether the password fits a hash of another algorithm or cost than new ones have. */
  readonly needsRehash: boolean;
}

/** What a hasher is made of. */
export interface PasswordHasherOptions {
  readonly random: RandomBytes;
  /** What the runtime brings; where it lacks a function, a portable one takes its place. @default {} */
  readonly kernels?: PasswordKernels;
  /** Algorithm and cost of new hashes. @default passwordCosts.scrypt */
  readonly cost?: HashCost;
  /** Accepts Argon2id where only the portable function has it, at several times the cost of scrypt. @default false */
  readonly allowSlow?: boolean;
}

/**
 * Creates a hasher.
 *
 * @throws {RangeError} The cost is beyond its bounds, or Argon2id is asked for where it is not native.
 */
export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { random, kernels = {}, cost = passwordCosts.scrypt, allowSlow = false } = options;
  if (!isBounded(cost)) throw new RangeError(`Cannot hash passwords at a cost of ${phcPrefix(cost)}`);
  if (cost.algorithm === "argon2id" && kernels.argon2id === undefined && !allowSlow) {
    throw new RangeError(
      "Cannot hash passwords with Argon2id: this runtime has no native one; use scrypt, Node >= 24.7 or Bun",
    );
  }
  return new KdfHasher(cost, kernels, random);
}

/** A PHC string of the hasher's cost that no password fits, so that an unknown user costs one KDF like a known one. */
export function dummyHash(hasher: PasswordHasher): string {
  // Finding a password for a key of zeros is as hard as finding one for any other 256 bits.
  return formatPhc(hasher.id, { salt: new Uint8Array(saltBytes), key: new Uint8Array(keyBytes) });
}

class KdfHasher implements PasswordHasher {
  readonly id: string;
  readonly #cost: HashCost;
  readonly #kernels: Required<Pick<PasswordKernels, "scrypt" | "argon2id">>;
  readonly #random: RandomBytes;

  constructor(cost: HashCost, kernels: PasswordKernels, random: RandomBytes) {
    this.id = phcPrefix(cost);
    this.#cost = cost;
    this.#kernels = { ...portableKernels, ...kernels };
    this.#random = random;
  }

  async hash(password: string): Promise<string> {
    if (!password.isWellFormed()) throw new TypeError("Cannot hash a password with a lone surrogate");
    const salt = this.#random(saltBytes);
    const key = await this.#derive(password, { cost: this.#cost, salt, length: keyBytes });
    return formatPhc(this.id, { salt, key });
  }

  async verify(phc: string, password: string): Promise<Verification> {
    const stored = parsePhc(phc);
    const { cost, salt, key } = stored ?? this.#nothing();
    const derived = await this.#derive(password, { cost, salt, length: key.length });
    const isEqual = constantTimeEqual(derived, key);
    // UTF-8 has one replacement for every lone surrogate, so that several such texts give the same bytes.
    const ok = isEqual && stored !== undefined && password.isWellFormed();
    const isCurrent = phcPrefix(cost) === this.id && salt.length >= saltBytes && key.length >= keyBytes;
    return { ok, needsRehash: ok && !isCurrent };
  }

  #nothing(): ParsedHash {
    return { cost: this.#cost, salt: new Uint8Array(saltBytes), key: new Uint8Array(keyBytes) };
  }

  #derive(
    password: string,
    { cost, salt, length }: { readonly cost: HashCost; readonly salt: Uint8Array; readonly length: number },
  ): Promise<Uint8Array> {
    const input = { password: utf8(password), salt, length };
    return cost.algorithm === "scrypt"
      ? this.#kernels.scrypt(input, cost)
      : this.#kernels.argon2id(input, cost);
  }
}
