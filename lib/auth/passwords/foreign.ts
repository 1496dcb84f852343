/** Password hashes of other systems, which imported accounts have until their users first log in. */

import { constantTimeEqual, utf8 } from "../crypto/mod.ts";
import type { PasswordKernels, ScryptCost } from "./kernels.ts";

/** The most work of an imported hash, so that no import makes logins exhaust a process. */
export const foreignCosts = {
  bcrypt: { min: 4, max: 12 },
  pbkdf2Iterations: { min: 1_000, max: 1_000_000 },
} as const;
const saltBytes = { min: 4, max: 64 } as const;
const keyBytes = { min: 16, max: 64 } as const;

export interface ForeignHash {
  readonly needsBcrypt: boolean;
  verify(password: string, kernels: ForeignKernels): Promise<boolean>;
}

type ForeignKernels = Required<Pick<PasswordKernels, "scrypt">> & Pick<PasswordKernels, "bcrypt">;

/** Parses a hash of another system; undefined if it is malformed or beyond a bound. */
export function parseForeignHash(text: string): ForeignHash | undefined {
  return parseBcrypt(text) ?? parsePbkdf2(text) ?? parseFirebase(text);
}

const bcryptShape = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

function parseBcrypt(text: string): ForeignHash | undefined {
  const [, cost] = bcryptShape.exec(text) ?? [];
  if (cost === undefined || !isIn(Number(cost), foreignCosts.bcrypt)) return undefined;
  // Other letters name the same algorithm in other libraries.
  const hash = `$2b$${text.slice(4)}`;
  return {
    needsBcrypt: true,
    verify: async (password, { bcrypt }) => (await bcrypt?.(password, hash)) === true,
  };
}

const pbkdf2Shape =
  /^\$pbkdf2-sha(256|512)\$i=(\d{1,7})(?:,l=(\d{1,3}))?\$([A-Za-z0-9+/]{1,100}=*)\$([A-Za-z0-9+/]{1,100}=*)$/;

function parsePbkdf2(text: string): ForeignHash | undefined {
  const [, bits, iterationsText, lengthText, saltText, keyText] = pbkdf2Shape.exec(text) ?? [];
  const salt = fromBase64(saltText);
  const key = fromBase64(keyText);
  const iterations = Number(iterationsText);
  if (salt === undefined || key === undefined || !isIn(iterations, foreignCosts.pbkdf2Iterations))
    return undefined;
  if (!areSized(salt, key) || Number(lengthText ?? key.length) !== key.length) return undefined;
  return {
    needsBcrypt: false,
    async verify(password) {
      const secret = await crypto.subtle.importKey("raw", utf8(password), "PBKDF2", false, ["deriveBits"]);
      const params = { name: "PBKDF2", salt, iterations, hash: `SHA-${bits}` };
      const derived = await crypto.subtle.deriveBits(params, secret, key.length * 8);
      return constantTimeEqual(new Uint8Array(derived), key);
    },
  };
}

const firebaseShape =
  /^\$fbscrypt\$v=1,n=(\d{1,2}),r=(\d{1,2}),p=1,ss=([A-Za-z0-9+/]{0,40}=*),sk=([A-Za-z0-9+/]{1,100}=*)\$([A-Za-z0-9+/]{1,100}=*)\$([A-Za-z0-9+/]{1,100}=*)$/;
export const firebaseCosts = { logN: { min: 1, max: 17 }, r: { min: 1, max: 16 } } as const;
const firebaseKeyBytes = 32;

/** Firebase encrypts a key of the project with the derived key; the hash is the result. */
function parseFirebase(text: string): ForeignHash | undefined {
  const [, logNText, rText, separatorText, signerText, saltText, keyText] = firebaseShape.exec(text) ?? [];
  const [separator, signer, salt, key] = [separatorText, signerText, saltText, keyText].map(fromBase64);
  if (!separator || !signer || !salt || !key) return undefined;
  const cost: ScryptCost = { logN: Number(logNText), r: Number(rText), p: 1 };
  const fits = isIn(cost.logN, firebaseCosts.logN) && isIn(cost.r, firebaseCosts.r);
  if (!fits || !areSized(salt, key) || signer.length !== key.length) return undefined;
  const salted = new Uint8Array([...salt, ...separator]);
  return {
    needsBcrypt: false,
    async verify(password, { scrypt }) {
      const input = { password: utf8(password), salt: salted, length: firebaseKeyBytes };
      const derived = new Uint8Array(await scrypt(input, cost));
      const cipher = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
      const secret = await crypto.subtle.importKey("raw", derived, cipher, false, ["encrypt"]);
      return constantTimeEqual(new Uint8Array(await crypto.subtle.encrypt(cipher, secret, signer)), key);
    },
  };
}

function areSized(salt: Uint8Array, key: Uint8Array): boolean {
  return isIn(salt.length, saltBytes) && isIn(key.length, keyBytes);
}

function isIn(value: number, { min, max }: { readonly min: number; readonly max: number }): boolean {
  return value >= min && value <= max;
}

function fromBase64(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  const digits = text?.replace(/=+$/, "");
  if (digits === undefined || digits.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(digits), character => character.charCodeAt(0));
}
