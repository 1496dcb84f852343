/** Passwords: hashing, the gate before it, and the policy for new ones. */

import { AppError } from "../../base/errors/mod.ts";
import type { Timer } from "../../http/mod.ts";
import { systemTimer } from "../../storage/background/mod.ts";
import { constantTimeEqual, type RandomBytes, utf8 } from "../crypto/mod.ts";
import { type ForeignHash, firebaseCosts, foreignCosts, parseForeignHash } from "./foreign.ts";
import { type Argon2idCost, type PasswordKernels, portableKernels, type ScryptCost } from "./kernels.ts";

export type { PasswordKernels } from "./kernels.ts";

export type HashCost =
  | ({ readonly algorithm: "scrypt" } & ScryptCost)
  | ({ readonly algorithm: "argon2id" } & Argon2idCost);

export const passwordAlgorithms: readonly ["scrypt", "argon2id"] = ["scrypt", "argon2id"];
export type PasswordAlgorithm = (typeof passwordAlgorithms)[number];

/** The cost of new hashes: for each algorithm a row of the OWASP Password Storage Cheat Sheet. */
export const passwordCosts: Readonly<Record<PasswordAlgorithm, HashCost>> = {
  scrypt: { algorithm: "scrypt", logN: 15, r: 8, p: 3 },
  argon2id: { algorithm: "argon2id", memoryKib: 19_456, passes: 2, parallelism: 1 },
};

/** The most work of a stored hash, so that an imported one cannot exhaust a process. */
const scryptCostMax: ScryptCost = { logN: 17, r: 16, p: 10 };
/** 256 MiB. */
const argon2idCostMax: Argon2idCost = { memoryKib: 262_144, passes: 10, parallelism: 4 };
/** Least memory of Argon2id per lane, in KiB (RFC 9106, section 3.1). */
const laneKibMin = 8;

/** Tests if native and portable functions compute the cost, within the bounds. */
function isBoundedCost(cost: HashCost): boolean {
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

const saltBytesMin = 8;
const saltBytesMax = 64;
/** 128 bits. */
const keyBytesMin = 16;
const keyBytesMax = 64;

interface ParsedHash {
  readonly cost: HashCost;
  readonly salt: Uint8Array;
  readonly key: Uint8Array;
}

const ending = "\\$([A-Za-z0-9+/]+)\\$([A-Za-z0-9+/]+)$";
const scryptShape = new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2}),p=(\\d{1,2})${ending}`);
const argon2idShape = new RegExp(`^\\$argon2id\\$v=19\\$m=(\\d{1,7}),t=(\\d{1,3}),p=(\\d{1,2})${ending}`);

/** Formats algorithm and cost, `$scrypt$ln=15,r=8,p=3`. */
export function phcPrefix(cost: HashCost): string {
  return cost.algorithm === "scrypt"
    ? `$scrypt$ln=${cost.logN},r=${cost.r},p=${cost.p}`
    : `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=${cost.parallelism}`;
}

export function formatPhc(prefix: string, { salt, key }: Pick<ParsedHash, "salt" | "key">): string {
  return `${prefix}$${base64(salt)}$${base64(key)}`;
}

/** Parses a hash; undefined if it is malformed or beyond a bound. */
export function parsePhc(text: string): ParsedHash | undefined {
  const scrypt = scryptShape.exec(text);
  const [, first, second, third, saltText, keyText] = scrypt ?? argon2idShape.exec(text) ?? [];
  const salt = fromBase64(saltText);
  const key = fromBase64(keyText);
  if (salt === undefined || key === undefined) return undefined;
  const cost: HashCost =
    scrypt === null
      ? {
          algorithm: "argon2id",
          memoryKib: Number(first),
          passes: Number(second),
          parallelism: Number(third),
        }
      : { algorithm: "scrypt", logN: Number(first), r: Number(second), p: Number(third) };
  const fits =
    isBoundedCost(cost) &&
    salt.length >= saltBytesMin &&
    salt.length <= saltBytesMax &&
    key.length >= keyBytesMin &&
    key.length <= keyBytesMax;
  return fits ? { cost, salt, key } : undefined;
}

/** Says what an imported hash must be, with the bounds of its form. */
export function hashExpectation(hash: string): string {
  const [, form = ""] = /^\$(2(?=[aby]\$)|[a-z]+\d?)/.exec(hash) ?? [];
  const { logN, r, p } = scryptCostMax;
  const { memoryKib, passes, parallelism } = argon2idCostMax;
  const { bcrypt, pbkdf2Iterations: iterations } = foreignCosts;
  const bounds: Readonly<Record<string, string>> = {
    scrypt: `ln up to ${logN}, r up to ${r} and p up to ${p}`,
    argon2id: `v=19, m up to ${memoryKib}, t up to ${passes} and p up to ${parallelism}`,
    fbscrypt: `v=1, n up to ${firebaseCosts.logN.max}, r up to ${firebaseCosts.r.max} and p=1`,
    pbkdf2: `i from ${iterations.min} to ${iterations.max}`,
    2: `a cost from ${bcrypt.min} to ${bcrypt.max}, and 60 characters, where the platform has bcrypt`,
  };
  return Object.hasOwn(bounds, form)
    ? `Expected a hash with ${bounds[form]}`
    : "Expected a hash in the form $scrypt$, $argon2id$, $fbscrypt$, $pbkdf2-sha256$, $pbkdf2-sha512$ or $2b$";
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("=", "");
}

function fromBase64(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(text), character => character.charCodeAt(0));
}

const saltBytes = 16;
const keyBytes = 32;

export interface PasswordHasher {
  /** Algorithm and cost of new hashes, as the beginning of a PHC string: `$scrypt$ln=15,r=8,p=3`. */
  readonly id: string;
  /**
   * Hashes a password as a PHC string.
   *
   * @throws {TypeError} The password has a lone surrogate.
   */
  hash(password: string): Promise<string>;
  /** Verifies a password with one key derivation for any stored string. */
  verify(phc: string, password: string): Promise<PasswordVerification>;
  /** Tests if a hash, also one of another system, can be verified. */
  accepts(hash: string): boolean;
}

export interface PasswordVerification {
  readonly ok: boolean;
  /** Set if the password is right and its hash has another algorithm or cost than new ones. */
  readonly needsRehash: boolean;
}

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
  readonly #kernels: Required<Pick<PasswordKernels, "scrypt" | "argon2id">> & Pick<PasswordKernels, "bcrypt">;
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
    const foreign = stored === undefined ? this.#foreign(phc) : undefined;
    if (foreign !== undefined) {
      const ok = password.isWellFormed() && (await foreign.verify(password, this.#kernels));
      return { ok, needsRehash: ok };
    }
    const { cost, salt, key } = stored ?? this.#dummy();
    const derived = await this.#derive(password.normalize("NFKC"), { cost, salt, length: key.length });
    // UTF-8 has one replacement for every lone surrogate, so that several such texts give the same bytes.
    const ok = constantTimeEqual(derived, key) && stored !== undefined && password.isWellFormed();
    const isCurrent = phcPrefix(cost) === this.id && salt.length >= saltBytes && key.length >= keyBytes;
    return { ok, needsRehash: ok && !isCurrent };
  }

  accepts(hash: string): boolean {
    return (parsePhc(hash) ?? this.#foreign(hash)) !== undefined;
  }

  /** Returns a hash of another system, unless its function is missing here. */
  #foreign(hash: string): ForeignHash | undefined {
    const foreign = parseForeignHash(hash);
    return foreign?.needsBcrypt && this.#kernels.bcrypt === undefined ? undefined : foreign;
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

/** Hashes that run at once if the runtime gives no number. */
export const concurrentHashesDefault = 2;
/** Most hashes that wait; the next one is refused at once. */
const hashesWaitingMax = 64;
const hashWaitMsMax = 2_000;

interface HashGateOptions {
  /** Hashes that run at once, at least 1. @default 2 */
  readonly concurrentMax?: number;
  /** @default systemTimer */
  readonly timer?: Timer | undefined;
}

export function gatedHasher(hasher: PasswordHasher, gate: HashGate): PasswordHasher {
  return {
    id: hasher.id,
    hash: password => gate.run(() => hasher.hash(password)),
    verify: (phc, password) => gate.run(() => hasher.verify(phc, password)),
    accepts: hash => hasher.accepts(hash),
  };
}

/** Runs a bounded number of hashes at once, in order of arrival. */
export class HashGate {
  readonly #concurrentMax: number;
  readonly #timer: Timer;
  /** Functions that start a waiting hash, in order of arrival. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(options: HashGateOptions = {}) {
    this.#concurrentMax = options.concurrentMax ?? concurrentHashesDefault;
    this.#timer = options.timer ?? systemTimer;
    if (!Number.isInteger(this.#concurrentMax) || this.#concurrentMax < 1) {
      throw new RangeError(`Cannot run ${this.#concurrentMax} hashes at once, at least 1 is needed`);
    }
  }

  /**
   * Does the work in its turn.
   *
   * @throws {AppError} `busy` with the time to wait: too many are waiting, or this one waited too long.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#concurrentMax) this.#running++;
    else await this.#turn();
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.size >= hashesWaitingMax) throw this.#busy();
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#timer(() => {
        this.#waiting.delete(enter);
        reject(this.#busy());
      }, hashWaitMsMax);
      this.#waiting.add(enter);
    });
  }

  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  #busy(): AppError {
    return new AppError("busy", "Cannot process a password now as too many are waiting: try again later", {
      retryAfterMs: hashWaitMsMax,
    });
  }
}

/** Shortest password, in UTF-16 units. */
const passwordUnitsMin = 8;
/** Longest password, in UTF-16 units. */
export const passwordUnitsMax = 1_024;
const passwordCheckMsMax = 3_000;

export interface PasswordPolicy {
  /** Returns a short code such as `breached` for a password that must not be used, or null. */
  readonly check?: (password: string) => Promise<string | null>;
  /** Longest wait for `check`, in ms. @default 3000 */
  readonly checkMsMax?: number;
  /** The decision if `check` fails or takes too long. @default "accept" */
  readonly onCheckFailed?: "accept" | "refuse";
  /** @default systemTimer */
  readonly timer?: Timer | undefined;
}

const details: Readonly<Record<string, string>> = {
  too_short: `at least ${passwordUnitsMin} characters`,
  too_long: `at most ${passwordUnitsMax} characters`,
  ill_formed: "well-formed Unicode",
  common: "a password that fewer people use",
  repeated: "more than one character",
  same_as_email: "another password than the e-mail address",
};

/**
 * Checks a new password.
 *
 * @throws {AppError} `weak_password` with the reason `too_short`, `too_long`, `ill_formed`, `repeated`, `same_as_email`,
 *   `common` or that of the policy;
 *   `busy` if the check of the policy failed and the policy refuses then.
 */
export async function checkPassword(
  password: string,
  policy: PasswordPolicy = {},
  /** The user's address, which is no password. */
  { email = "" }: { readonly email?: string } = {},
): Promise<void> {
  const reason =
    lengthFault(password) ?? (await guessFault(password, email)) ?? (await customFault(password, policy));
  if (reason === null) return;
  const detail = details[reason] ?? "another password";
  throw new AppError(
    "weak_password",
    "Cannot use this password: it is too easy to guess or of a wrong length",
    { fields: [{ pointer: "/data/password", detail: `Expected ${detail}`, reason }] },
  );
}

function lengthFault(password: string): string | null {
  if (password.length < passwordUnitsMin) return "too_short";
  if (password.length > passwordUnitsMax) return "too_long";
  return password.isWellFormed() ? null : "ill_formed";
}

/** The list is long: a process loads it with the first password that it checks. */
let common: typeof import("./common_passwords.ts") | undefined;

async function guessFault(password: string, email: string): Promise<string | null> {
  const normal = password.normalize("NFKC");
  if (new Set(normal).size === 1) return "repeated";
  if (normal.toLowerCase() === email.normalize("NFKC").toLowerCase()) return "same_as_email";
  common ??= await import("./common_passwords.ts");
  return common.isCommonPassword(normal) ? "common" : null;
}

async function customFault(password: string, policy: PasswordPolicy): Promise<string | null> {
  const { check, checkMsMax = passwordCheckMsMax, onCheckFailed = "accept", timer = systemTimer } = policy;
  if (check === undefined) return null;
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    cancel = timer(() => reject(new Error(`The check took longer than ${checkMsMax} ms`)), checkMsMax);
  });
  try {
    return await Promise.race([check(password), late]);
  } catch (cause) {
    if (onCheckFailed === "accept") return null;
    throw new AppError("busy", "Cannot check the password now: try again later", { cause });
  } finally {
    cancel();
  }
}
