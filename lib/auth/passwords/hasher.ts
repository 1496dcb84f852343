/**
 * Password hashing: scrypt by default, Argon2id by choice of a deployment, both verified everywhere.
 *
 * Passwords are hashed in Unicode's form NFKC, because keyboards spell one character in several ways. The number of key
 * derivations of a failed verification depends on the password alone, also for a malformed stored text, so that its duration
 * reveals nothing of the store.
 *
 * @module
 */

import { utf8 } from "../crypto/encoding.ts";
import { constantTimeEqual, type RandomBytes } from "../environment.ts";
import {
  formatPhc,
  type HashCost,
  isBoundedCost,
  type ParsedHash,
  parsePhc,
  passwordCosts,
  phcPrefix,
} from "./hash_format.ts";
import { type PasswordKernels, portableKernels } from "./kernels.ts";

const saltBytes = 16;
const keyBytes = 32;

/** Hashes and verifies passwords. */
export interface PasswordHasher {
  /** Algorithm and cost of new hashes, as the beginning of a PHC string: `$scrypt$ln=15,r=8,p=3`. */
  readonly id: string;
  /**
   * Hashes a password as a PHC string.
   *
   * @throws {TypeError} The password has a lone surrogate.
   */
  hash(password: string): Promise<string>;
  /**
   * Verifies a password with one key derivation for any stored string. One that NFKC changes may cost a second, since its
   * hash may be of a time when passwords were hashed as typed.
   */
  verify(phc: string, password: string): Promise<PasswordVerification>;
}

/** The outcome of a verification. */
export interface PasswordVerification {
  readonly ok: boolean;
  /** Set if the password is right and its hash has another algorithm, cost or Unicode form than new ones. */
  readonly needsRehash: boolean;
}

/** Options of {@linkcode createPasswordHasher}. */
export interface PasswordHasherOptions {
  readonly random: RandomBytes;
  /** Native functions; portable ones take the place of missing ones. @default {} */
  readonly kernels?: PasswordKernels;
  /** Algorithm and cost of new hashes. @default passwordCosts.scrypt */
  readonly cost?: HashCost;
}

/**
 * Creates a hasher.
 *
 * @throws {RangeError} The cost is beyond its bounds, or Argon2id is not native here.
 */
export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { random, kernels = {}, cost = passwordCosts.scrypt } = options;
  if (!isBoundedCost(cost)) throw new RangeError(`Cannot hash passwords at a cost of ${phcPrefix(cost)}`);
  if (cost.algorithm === "argon2id" && kernels.argon2id === undefined) {
    throw new RangeError(
      "Cannot hash passwords with Argon2id: this runtime has no native one; use scrypt, Node >= 24.7 or Bun",
    );
  }
  return new KdfHasher(cost, kernels, random);
}

/** Makes a PHC string of the hasher's cost that no password fits, so that an unknown user costs one key derivation too. */
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
    const key = await this.#derive(password.normalize("NFKC"), { cost: this.#cost, salt, length: keyBytes });
    return formatPhc(this.id, { salt, key });
  }

  async verify(phc: string, password: string): Promise<PasswordVerification> {
    const stored = parsePhc(phc);
    const { cost, salt, key } = stored ?? this.#dummy();
    const isKeyOf = async (text: string): Promise<boolean> =>
      constantTimeEqual(await this.#derive(text, { cost, salt, length: key.length }), key);
    const normal = password.normalize("NFKC");
    const isNormal = await isKeyOf(normal);
    const isEqual = isNormal || (normal !== password && (await isKeyOf(password)));
    // UTF-8 has one replacement for every lone surrogate, so that several such texts give the same bytes.
    const ok = isEqual && stored !== undefined && password.isWellFormed();
    const isCurrent =
      isNormal && phcPrefix(cost) === this.id && salt.length >= saltBytes && key.length >= keyBytes;
    return { ok, needsRehash: ok && !isCurrent };
  }

  #dummy(): ParsedHash {
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
