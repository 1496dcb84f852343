/**
 * Signing keys and compact JWS of the platform's own tokens, by jose.
 *
 * No key, algorithm or address is read from a token: the pair determines key and algorithm.
 */

import type { CryptoKey, JWK } from "jose";
import { utf8 } from "../crypto/mod.ts";

/** Signature algorithms of tokens. All are asymmetric, so that a verifier cannot sign. */
export const signatureAlgorithms = ["EdDSA", "ES256", "RS256"] as const;
/** A signature algorithm. */
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

const rsaModulusBits = 2048;

type Jose = typeof import("./jose_functions.ts");
let jose: Jose | undefined;

/** Loads jose with the first key or token: it is a quarter of the cost of importing a platform. */
export async function loadJose(): Promise<Jose> {
  jose ??= await import("./jose_functions.ts");
  return jose;
}

export interface PublicJwk {
  readonly kty: string;
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
  readonly use: "sig";
  readonly [member: string]: unknown;
}

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

export async function generatePrivateJwk(algorithm: SignatureAlgorithm): Promise<string> {
  const { generateKeyPair, exportJWK } = await loadJose();
  const { privateKey } = await generateKeyPair(algorithm, {
    extractable: true,
    modulusLength: rsaModulusBits,
  });
  return JSON.stringify(await exportJWK(privateKey));
}

/** Computes the RFC 7638 thumbprint of a JWK text, which names the key. */
export async function thumbprint(privateJwk: string): Promise<string> {
  const { calculateJwkThumbprint } = await loadJose();
  return await calculateJwkThumbprint(publicPart(JSON.parse(privateJwk)));
}

/** Imports the key pair of a private JWK text. Neither key can be extracted again. */
export async function importPair(privateJwk: string, algorithm: SignatureAlgorithm): Promise<KeyPair> {
  const { calculateJwkThumbprint } = await loadJose();
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
  const { CompactSign } = jose ?? (await loadJose());
  return await new CompactSign(utf8(content.payload))
    .setProtectedHeader({ alg: pair.algorithm, kid: pair.kid, typ: content.typ })
    .sign(pair.privateKey);
}

export async function isSignedBy(pair: KeyPair, token: string): Promise<boolean> {
  const { compactVerify, errors } = jose ?? (await loadJose());
  try {
    await compactVerify(token, pair.publicKey, { algorithms: [pair.algorithm] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
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
  const { importJWK } = await loadJose();
  const key = await importJWK(jwk, algorithm, { extractable: false });
  if (key instanceof Uint8Array) throw new TypeError("Cannot use a symmetric key to sign tokens");
  return key;
}
