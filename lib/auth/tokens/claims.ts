/**
 * The claims of tokens, and the checks of every use.
 *
 * Of a header only the name of a key of our own ring counts: `jku`, `x5u`, `jwk` and `x5c` are never read, and a token
 * with critical extensions is refused (RFC 8725, sections 3.1 and 3.10). The checks are ours and not those of jose, as
 * they run at every use of a cached token, without a promise.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { fromBase64url, fromUtf8 } from "../crypto/encoding.ts";
import { clockSkewSecondsMax, tokenTtlSecondsMax } from "./key_ring_record.ts";

/** The longest token, in characters. */
export const tokenCharsMax = 8_192;

/** The claims of a verified token, deeply frozen. */
export interface Claims {
  readonly iss: string;
  readonly aud: string | readonly string[];
  readonly sub: string;
  /** Unix seconds. */
  readonly exp: number;
  /** Unix seconds. */
  readonly iat: number;
  /** Unix seconds. */
  readonly nbf?: number;
  readonly [claim: string]: unknown;
}

/** The claims that a token needs for one use. */
export interface TokenExpectation {
  /** Media type of the token, for example `at+jwt`; compared exactly, so that no kind of token is accepted as another. */
  readonly typ: string;
  readonly issuer: string;
  /** Must be the token's audience or one of them. */
  readonly audience: string;
  /** Accepts an expired token, as refresh and logout do. @default false */
  readonly acceptExpired?: boolean;
}

/** The members of a token's header. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string;
  readonly typ: string;
}

const bearerScheme = /^bearer(?: +|$)/i;
const token68 = /^[A-Za-z0-9._~+/-]+=*$/;
const compactShape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Decodes the header of a compact token; undefined for a text that is no acceptable token. */
export function decodeHeader(token: string): TokenHeader | undefined {
  if (token.length > tokenCharsMax || !compactShape.test(token)) return undefined;
  const header = decodeObject(token.slice(0, token.indexOf(".")));
  if (header === undefined || "crit" in header || "b64" in header) return undefined;
  const { alg, kid, typ } = header;
  if (typeof alg !== "string" || typeof kid !== "string" || typeof typ !== "string") return undefined;
  return { alg, kid, typ };
}

/**
 * Reads a claim of an unverified token, for choosing what its verification expects. Undefined for a text that is no
 * token or lacks the claim.
 */
export function unverifiedClaim(token: string, name: string): unknown {
  if (decodeHeader(token) === undefined) return undefined;
  const claims = decodeObject(token.slice(token.indexOf(".") + 1, token.lastIndexOf(".")));
  return claims !== undefined && Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** Decodes the claims of a compact token; undefined if a required one is missing or of the wrong type. */
export function decodeClaims(token: string): Claims | undefined {
  const claims = decodeObject(token.slice(token.indexOf(".") + 1, token.lastIndexOf(".")));
  return claims !== undefined && isClaims(claims) ? freezeDeep(claims) : undefined;
}

/**
 * Returns the claims of a token that may be used as expected at `now` (Unix ms).
 *
 * @throws {AppError} `token_expired` if the expiry is the only fault, else `invalid_token`.
 */
export function acceptClaims(
  token: { readonly typ: string; readonly claims: Claims },
  expected: TokenExpectation,
  now: number,
): Claims {
  const { typ, claims } = token;
  if (typ !== expected.typ) throw invalidToken("typ");
  if (claims.iss !== expected.issuer) throw invalidToken("iss");
  const { aud } = claims;
  if (aud !== expected.audience && (typeof aud === "string" || !aud.includes(expected.audience))) {
    throw invalidToken("aud");
  }
  const latestStart = now + clockSkewSecondsMax * 1_000;
  if (claims.iat * 1_000 > latestStart) throw invalidToken("iat");
  if (claims.nbf !== undefined && claims.nbf * 1_000 > latestStart) throw invalidToken("nbf");
  if (claims.exp * 1_000 <= now && expected.acceptExpired !== true) throw tokenExpired();
  return claims;
}

/** Creates the one error for an unacceptable token. The reason is for the log alone. */
export function invalidToken(reason: string): AppError {
  return new AppError("invalid_token", "The token is not valid for this request: sign in again", {
    cause: reason,
  });
}

/**
 * Reads the token of an `Authorization: Bearer <token>` header (RFC 6750), the scheme in any case. Its characters are
 * left to the verification, which skips those of a cached token.
 *
 * @throws {AppError} `missing_token`: no header, or another scheme. `invalid_token`: no single token there.
 */
export function bearerToken(authorization: string | null): string {
  const scheme = authorization === null ? null : bearerScheme.exec(authorization);
  if (authorization === null || scheme === null) {
    throw new AppError("missing_token", "This request needs an Authorization header with a bearer token");
  }
  const token = authorization.slice(scheme[0].length);
  if (authorization.length > tokenCharsMax + 64 || token === "" || token.includes(" ")) {
    throw invalidToken("header");
  }
  return token;
}

/** Tests if a request has the access token of a person who authors (`gst_…`), and no API key. */
export function hasAccessToken({ headers }: Request): boolean {
  return !headers.has("x-api-key") && /^bearer +gst_/i.test(headers.get("authorization") ?? "");
}

/**
 * Reads a bearer token for another issuer, and checks its characters as well (RFC 6750).
 *
 * @throws {AppError} `missing_token`: no header, or another scheme. `invalid_token`: no single well-formed token there.
 */
export function foreignBearerToken(authorization: string | null): string {
  const token = bearerToken(authorization);
  if (!token68.test(token)) throw invalidToken("header");
  return token;
}

function tokenExpired(): AppError {
  return new AppError("token_expired", "The token has expired: refresh it or sign in again");
}

function isClaims(claims: Readonly<Record<string, unknown>>): claims is Claims {
  const { iss, aud, sub, exp, iat, nbf } = claims;
  return (
    typeof iss === "string" &&
    (typeof aud === "string" || (Array.isArray(aud) && aud.every(name => typeof name === "string"))) &&
    typeof sub === "string" &&
    sub !== "" &&
    isTime(exp) &&
    isTime(iat) &&
    (nbf === undefined || isTime(nbf)) &&
    exp > iat &&
    exp - iat <= tokenTtlSecondsMax
  );
}

/** The last second of ECMAScript's clock: a token that claims to live longer was not made by one. */
/** The last second that a clock can reach. */
export const lastSecond = 8_640_000_000_000;

/** Tests for a time that a clock can reach, in whole Unix seconds. */
export function isTime(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= lastSecond;
}

function decodeObject(segment: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = fromBase64url(segment);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(fromUtf8(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function freezeDeep<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null) freezeDeep(member);
  }
  return Object.freeze(value);
}
