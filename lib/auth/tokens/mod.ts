/** Tokens, their claims and bearers. */

import { AppError } from "../../base/errors/mod.ts";
import { isMembers } from "../../base/json/mod.ts";
import { type Clock, fromBase64url, fromUtf8, type RandomBytes, uuid } from "../crypto/mod.ts";
import { isSignedBy, type KeyPair, signCompact } from "./jose.ts";
import { clockSkewSecondsMax, type KeyRing, tokenTtlSecondsMax } from "./key_ring.ts";

export { clockSkewSecondsMax, tokenTtlSecondsMax } from "./key_ring.ts";

export const tokenCharsMax = 8_192;

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

export type TokenExpectation = {
  /** Media type of the token, for example `at+jwt`; compared exactly, so that no kind of token is accepted as another. */
  readonly typ: string;
  /** Accepts an expired token, as refresh and logout do. @default false */
  readonly acceptExpired?: boolean;
} & (
  | {
      readonly issuer: string;
      /** Must be the token's audience or one of them. */
      readonly audience: string;
    }
  | {
      /** Any issuer that is an audience of its own token. The caller must check which one, as all of them sign with the same keys. */
      readonly issuer: null;
    }
);

interface TokenHeader {
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
function acceptClaims(
  token: { readonly typ: string; readonly claims: Claims },
  expected: TokenExpectation,
  now: number,
): Claims {
  const { typ, claims } = token;
  if (typ !== expected.typ) throw invalidToken("typ");
  const { aud, iss } = claims;
  if (expected.issuer !== null && iss !== expected.issuer) throw invalidToken("iss");
  const audience = expected.issuer === null ? iss : expected.audience;
  if (aud !== audience && (typeof aud === "string" || !aud.includes(audience))) throw invalidToken("aud");
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
    return isMembers(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function freezeDeep<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null) freezeDeep(member);
  }
  return Object.freeze(value);
}

export interface TokensOptions {
  readonly ring: Pick<KeyRing, "signer" | "find" | "lookup">;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

export interface TokenContent {
  /** Media type of the token, for example `at+jwt`. */
  readonly typ: string;
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly subject: string;
  /** Life in whole seconds, from 1 to {@linkcode tokenTtlSecondsMax}. */
  readonly ttlSeconds: number;
  /** The `jti`. @default a new UUID */
  readonly id?: string;
  /** Further claims. Must not name a registered one. @default {} */
  readonly claims?: Readonly<Record<string, unknown>>;
}

const registeredClaims: readonly string[] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

/** Creates the tokens of a key ring. Create one per process, as it caches verified tokens. */
export function createTokens(options: TokensOptions): Tokens {
  return new Tokens(options);
}

/** Signs and verifies tokens. */
export class Tokens {
  readonly #ring: TokensOptions["ring"];
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #cache = new TokenCache();

  constructor(options: TokensOptions) {
    this.#ring = options.ring;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /**
   * Signs a token with `iat`, `exp` and a unique `jti`.
   *
   * @throws {RangeError} The life is out of bounds, or the token would be longer than {@linkcode tokenCharsMax}.
   * @throws {TypeError} `claims` has a registered claim.
   */
  async sign(content: TokenContent): Promise<string> {
    const { typ, issuer, audience, subject, ttlSeconds, claims = {} } = content;
    if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > tokenTtlSecondsMax) {
      throw new RangeError(
        `Cannot sign a token for ${ttlSeconds} seconds, 1 to ${tokenTtlSecondsMax} are allowed`,
      );
    }
    const registered = registeredClaims.find(name => Object.hasOwn(claims, name));
    if (registered !== undefined) throw new TypeError(`Cannot set the registered claim ${registered}`);
    const pair = await this.#ring.signer();
    const iat = Math.floor(this.#clock() / 1_000);
    const times = { iat, exp: iat + ttlSeconds, jti: content.id ?? uuid(this.#random) };
    const payload = JSON.stringify({ ...claims, iss: issuer, aud: audience, sub: subject, ...times });
    const token = await signCompact(pair, { typ, payload });
    if (token.length > tokenCharsMax) {
      throw new RangeError(
        `Cannot issue a token of ${token.length} characters, at most ${tokenCharsMax} are allowed`,
      );
    }
    return token;
  }

  /**
   * Verifies a token of ours and returns its claims, without a promise if its signature was verified within the last
   * minute, so that hot paths need no microtask.
   *
   * @throws {AppError} `token_expired`; `invalid_token` for every other fault of the token; `storage_unavailable` if
   * the token names an unknown key and the ring cannot be read.
   */
  verify(token: string, expected: TokenExpectation): Claims | Promise<Claims> {
    const now = this.#clock();
    const cached = this.#cache.get(token, now);
    if (cached !== undefined && this.#ring.find(cached.pair.kid, now)?.pair === cached.pair) {
      return acceptClaims(cached, expected, now);
    }
    return this.#verifyNew(token, expected);
  }

  /** Tests if a token names a key of this ring: no proof, but a reason to send it to no other server. */
  namesOwnKey(token: string): boolean {
    const header = decodeHeader(token);
    return header !== undefined && this.#ring.find(header.kid, this.#clock()) !== undefined;
  }

  async #verifyNew(token: string, expected: TokenExpectation): Promise<Claims> {
    const verified = await this.#checkSignature(token);
    const now = this.#clock();
    this.#cache.put(token, verified, now);
    return acceptClaims(verified, expected, now);
  }

  async #checkSignature(token: string): Promise<VerifiedToken> {
    const header = decodeHeader(token);
    if (header === undefined) throw invalidToken("format");
    const key = this.#ring.find(header.kid, this.#clock()) ?? (await this.#ring.lookup(header.kid));
    if (key === undefined) throw invalidToken("kid");
    const { pair } = key;
    if (header.alg !== pair.algorithm) throw invalidToken("alg");
    if (!(await isSignedBy(pair, token))) throw invalidToken("signature");
    const claims = decodeClaims(token);
    if (claims === undefined) throw invalidToken("claims");
    return { typ: header.typ, claims, pair };
  }
}

/** Age from which a signature is verified again. */
const ageMsMax = 60_000;

export interface VerifiedToken {
  readonly typ: string;
  readonly claims: Claims;
  readonly pair: KeyPair;
}

/** Length of the end of a token that keys the cache: 256 bits in base64url. */
const tailChars = 43;

interface Entry extends VerifiedToken {
  readonly token: string;
  /** Unix ms. */
  readonly until: number;
}

/** Estimates the memory of an entry, as measured for access tokens: the token, its claims and the objects around them. */
function entryBytes(token: string): number {
  return 512 + 2 * token.length;
}

interface TokenCacheOptions {
  /** @default 100000 */
  readonly entriesMax?: number;
  /** Estimated memory. @default 64 MiB */
  readonly bytesMax?: number;
}

/**
 * Caches tokens with verified signatures.
 *
 * It is no `Cache` of lib/storage/background: it is bounded in bytes as well, a hit does no bookkeeping, and it is keyed by the
 * last 43 characters of the token, the end of the signature. Hashing those instead of 400 halves the cost of a hit.
 * Tokens with the same end only displace each other, as the entry holds the token to compare.
 */
export class TokenCache {
  readonly #entriesMax: number;
  readonly #bytesMax: number;
  #young = new Map<string, Entry>();
  #elder = new Map<string, Entry>();
  #youngSince = Number.NEGATIVE_INFINITY;
  #youngBytes = 0;

  constructor({ entriesMax = 100_000, bytesMax = 67_108_864 }: TokenCacheOptions = {}) {
    this.#entriesMax = entriesMax;
    this.#bytesMax = bytesMax;
  }

  /** Finds the token, expired or not, unless its entry is over at `now`, in Unix ms. */
  get(token: string, now: number): VerifiedToken | undefined {
    const tail = token.slice(-tailChars);
    const entry = this.#young.get(tail) ?? this.#elder.get(tail);
    return entry !== undefined && now < entry.until && entry.token === token ? entry : undefined;
  }

  /** Keeps the token for a minute from `now`, in Unix ms. Expired ones too: clients repeat them, and a signature costs most. */
  put(token: string, verified: VerifiedToken, now: number): void {
    const until = now + ageMsMax;
    const bytes = entryBytes(token);
    if (this.#isFull(bytes) || now - this.#youngSince >= ageMsMax) this.#age(now);
    const tail = token.slice(-tailChars);
    const displaced = this.#young.get(tail);
    this.#youngBytes += displaced === undefined ? bytes : bytes - entryBytes(displaced.token);
    const { typ, claims, pair } = verified;
    this.#young.set(tail, { token, typ, claims, pair, until });
  }

  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  #isFull(bytes: number): boolean {
    return this.#young.size >= this.#entriesMax / 2 || this.#youngBytes + bytes > this.#bytesMax / 2;
  }

  #age(now: number): void {
    this.#elder = this.#young;
    this.#young = new Map();
    this.#youngSince = now;
    this.#youngBytes = 0;
  }
}
