/**
 * The cost and the text form of password hashes: PHC strings, `$scrypt$ln=15,r=8,p=3$salt$hash` and
 * `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`, salt and hash in base64 without padding.
 *
 * @module
 */

import type { Argon2idCost, ScryptCost } from "./kernels.ts";

export type HashCost =
  | ({ readonly algorithm: "scrypt" } & ScryptCost)
  | ({ readonly algorithm: "argon2id" } & Argon2idCost);

/** The algorithms of password hashes. */
export const passwordAlgorithms: readonly ["scrypt", "argon2id"] = ["scrypt", "argon2id"];
/** An algorithm of password hashes. */
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
export function isBoundedCost(cost: HashCost): boolean {
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

/** A parsed password hash. */
export interface ParsedHash {
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

/** Formats a hash after the prefix of its algorithm and cost. */
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

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("=", "");
}

function fromBase64(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(text), character => character.charCodeAt(0));
}
