/**
 * Password hashes as text: the PHC string format, `$scrypt$ln=15,r=8,p=3$salt$hash` and
 * `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`, salt and hash in base64 without padding.
 *
 * @module
 */

import { type HashCost, isBounded } from "./cost.ts";

/** Fewest bytes of a salt that is read. */
export const saltBytesMin = 8;
/** Most bytes of a salt that is read. */
export const saltBytesMax = 64;
/** Fewest bytes of a derived key that is read: 128 bits. */
export const keyBytesMin = 16;
/** Most bytes of a derived key that is read. */
export const keyBytesMax = 64;

/** A password hash taken apart. */
export interface ParsedHash {
  readonly cost: HashCost;
  readonly salt: Uint8Array;
  readonly key: Uint8Array;
}

const ending = "\\$([A-Za-z0-9+/]+)\\$([A-Za-z0-9+/]+)$";
const scryptShape = new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2}),p=(\\d{1,2})${ending}`);
const argon2idShape = new RegExp(`^\\$argon2id\\$v=19\\$m=(\\d{1,7}),t=(\\d{1,3}),p=(\\d{1,2})${ending}`);

/** The part of a hash that names algorithm and cost, `$scrypt$ln=15,r=8,p=3`. */
export function phcPrefix(cost: HashCost): string {
  return cost.algorithm === "scrypt"
    ? `$scrypt$ln=${cost.logN},r=${cost.r},p=${cost.p}`
    : `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=${cost.parallelism}`;
}

/** Writes a hash whose algorithm and cost are written already. */
export function formatPhc(prefix: string, { salt, key }: Pick<ParsedHash, "salt" | "key">): string {
  return `${prefix}$${base64(salt)}$${base64(key)}`;
}

/** Reads a hash; undefined where it is malformed or beyond a bound. */
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
    isBounded(cost) &&
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
