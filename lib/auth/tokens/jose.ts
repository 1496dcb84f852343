/**
 * Signing keys and compact JWS by Web Crypto. The only file that imports jose, which makes keys and signs.
 *
 * Nothing here reads a key, an algorithm or an address from a token: the pair says which key and algorithm. That leaves
 * one call of Web Crypto to verify a token that has been taken apart already. Tokens of other issuers are verified by jose
 * with keys and algorithms that the caller fixes; a token may only name one of these keys.
 *
 * @module
 */

import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import { fromBase64url, utf8 } from "../crypto/encoding.ts";

/** Signature algorithms for tokens. All are asymmetric, so that whoever verifies cannot sign. */
export const signatureAlgorithms = ["EdDSA", "ES256", "RS256"] as const;
/** A signature algorithm. */
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** Modulus of a new RSA key, in bits. */
export const rsaModulusBits = 2048;

/** The members of a JSON Web Key that everybody may see. */
export interface PublicJwk {
  readonly kty: string;
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
  readonly use: "sig";
  readonly [member: string]: unknown;
}

/** A key pair ready for use. */
export interface KeyPair {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly algorithm: SignatureAlgorithm;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly publicJwk: PublicJwk;
}

/** The public members of each key type, by name, so that a private one can never slip through. */
const publicMembers = ["kty", "crv", "x", "y", "n", "e"] as const;

/** RFC 7518, section 3.1, and RFC 8037 in the terms of Web Crypto. */
const verificationMethods = {
  EdDSA: { name: "Ed25519" },
  ES256: { name: "ECDSA", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
} as const satisfies Record<SignatureAlgorithm, unknown>;

/** A new private key as JWK text, from the generator of the runtime. */
export async function generatePrivateJwk(algorithm: SignatureAlgorithm): Promise<string> {
  const { privateKey } = await generateKeyPair(algorithm, {
    extractable: true,
    modulusLength: rsaModulusBits,
  });
  return JSON.stringify(await exportJWK(privateKey));
}

/** The RFC 7638 thumbprint of a JWK text, which names the key. */
export async function thumbprint(privateJwk: string): Promise<string> {
  return await calculateJwkThumbprint(publicPart(JSON.parse(privateJwk)));
}

/** The key pair of a private JWK text. Neither key can be extracted again. */
export async function importPair(privateJwk: string, algorithm: SignatureAlgorithm): Promise<KeyPair> {
  const jwk: JWK = JSON.parse(privateJwk);
  const shared = publicPart(jwk);
  const [kid, privateKey, publicKey] = await Promise.all([
    calculateJwkThumbprint(shared),
    importKey(jwk, algorithm),
    importKey(shared, algorithm),
  ]);
  const publicJwk = { ...shared, kty: String(shared.kty), kid, alg: algorithm, use: "sig" } as const;
  return { kid, algorithm, privateKey, publicKey, publicJwk };
}

/** Signs a payload text. The result is `header.payload.signature`, each base64url. */
export async function signCompact(pair: KeyPair, content: { typ: string; payload: string }): Promise<string> {
  return await new CompactSign(utf8(content.payload))
    .setProtectedHeader({ alg: pair.algorithm, kid: pair.kid, typ: content.typ })
    .sign(pair.privateKey);
}

/** Whether the key of this pair has signed the token, `header.payload.signature`, with its own algorithm. */
export async function verifyCompact(pair: KeyPair, token: string): Promise<boolean> {
  const dot = token.lastIndexOf(".");
  const signature = fromBase64url(token.slice(dot + 1));
  if (signature === undefined) return false;
  const method = verificationMethods[pair.algorithm];
  return await crypto.subtle.verify(method, pair.publicKey, signature, utf8(token.slice(0, dot)));
}

/** Signature algorithms that other issuers may be configured with. None is symmetric. */
export const foreignAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;
/** A signature algorithm of another issuer. */
export type ForeignAlgorithm = (typeof foreignAlgorithms)[number];

/** The published keys of another issuer. */
export type ForeignKeys = ReturnType<typeof createLocalJWKSet>;

/** What a token of another issuer must say. */
export interface ForeignExpectation {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly ForeignAlgorithm[];
  /** Unix ms. */
  readonly now: number;
  readonly skewSecondsMax: number;
}

/** What became of a verification; `unknownKey` where the token names none of the keys. */
export type ForeignVerdict =
  | { readonly verdict: "valid"; readonly typ: string | undefined; readonly claims: JWTPayload }
  | { readonly verdict: "expired" | "unknownKey" | "invalid" };

/** The keys of a JSON Web Key Set, or undefined where the value is none. */
export function foreignKeys(value: unknown): ForeignKeys | undefined {
  try {
    return createLocalJWKSet(value as JSONWebKeySet);
  } catch {
    return undefined;
  }
}

/** Verifies a token of another issuer. `sub`, `exp` and `iat` are demanded, and a `kid`. */
export async function verifyForeign(
  token: string,
  keys: ForeignKeys,
  expected: ForeignExpectation,
): Promise<ForeignVerdict> {
  const { issuer, audience, algorithms, now, skewSecondsMax } = expected;
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: [...algorithms],
    currentDate: new Date(now),
    clockTolerance: skewSecondsMax,
    requiredClaims: ["sub", "exp", "iat"],
  };
  try {
    if (typeof decodeProtectedHeader(token).kid !== "string") return { verdict: "invalid" };
    const { payload, protectedHeader } = await jwtVerify(token, keys, options);
    return { verdict: "valid", typ: protectedHeader.typ, claims: payload };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { verdict: "expired" };
    // Whatever else is wrong with a key or token is the fault of whoever made it.
    return { verdict: error instanceof errors.JWKSNoMatchingKey ? "unknownKey" : "invalid" };
  }
}

function publicPart(jwk: JWK): JWK {
  const shared: JWK = {};
  for (const member of publicMembers) {
    if (jwk[member] !== undefined) shared[member] = jwk[member];
  }
  return shared;
}

async function importKey(jwk: JWK, algorithm: SignatureAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm, { extractable: false });
  if (key instanceof Uint8Array) throw new TypeError("Cannot use a symmetric key to sign tokens");
  return key;
}
