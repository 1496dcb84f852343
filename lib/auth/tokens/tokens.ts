/**
 * Tokens: compact JWTs signed by the key ring.
 *
 * A signature is verified once per token and minute; typ, issuer, audience and times are checked at every use.
 *
 * @module
 */

import { type Clock, type RandomBytes, uuid } from "../environment.ts";
import {
  acceptClaims,
  type Claims,
  decodeClaims,
  decodeHeader,
  invalidToken,
  type TokenExpectation,
  tokenCharsMax,
  unverifiedClaim,
} from "./claims.ts";
import { isSignedBy, type KeyPair, signCompact } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { tokenTtlSecondsMax } from "./key_ring_record.ts";

/** Options of {@linkcode createTokens}. */
export interface TokensOptions {
  readonly ring: Pick<KeyRing, "signer" | "find" | "lookup">;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** A token to sign. */
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

  /** Returns the issuer that a token names, for choosing what its verification expects; undefined where there is none. */
  issuerOf(token: string): string | undefined {
    const cached = this.#cache.get(token, this.#clock());
    const issuer = cached === undefined ? unverifiedClaim(token, "iss") : cached.claims.iss;
    return typeof issuer === "string" ? issuer : undefined;
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

/** A token with a verified signature. */
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

/** Bounds of a {@linkcode TokenCache}. */
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

  /** Finds the token, unless its entry or the token has expired at `now`, in Unix ms. */
  get(token: string, now: number): VerifiedToken | undefined {
    const tail = token.slice(-tailChars);
    const entry = this.#young.get(tail) ?? this.#elder.get(tail);
    return entry !== undefined && now < entry.until && entry.token === token ? entry : undefined;
  }

  /** Keeps the token from `now` (Unix ms) until it expires, for a minute at most. */
  put(token: string, verified: VerifiedToken, now: number): void {
    const until = Math.min(verified.claims.exp * 1_000, now + ageMsMax);
    if (until <= now) return;
    const bytes = entryBytes(token);
    if (this.#isFull(bytes) || now - this.#youngSince >= ageMsMax) this.#age(now);
    const tail = token.slice(-tailChars);
    const displaced = this.#young.get(tail);
    this.#youngBytes += displaced === undefined ? bytes : bytes - entryBytes(displaced.token);
    const { typ, claims, pair } = verified;
    this.#young.set(tail, { token, typ, claims, pair, until });
  }

  /** The number of entries. */
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
