/**
 * Signing keys and compact JWS by Web Crypto. The only file that imports jose, which makes keys and signs.
 *
 * Nothing here reads a key, an algorithm or an address from a token: the pair says which key and algorithm. That leaves
 * one call of Web Crypto to verify a token that has been taken apart already.
 *
 * @module
 */

import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from "jose";
import { fromBase64url, utf8 } from "./encoding.ts";

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
