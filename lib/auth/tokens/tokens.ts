/**
 * Tokens: compact JWTs signed by the key ring.
 *
 * A signature is verified once per token and minute; typ, issuer, audience and times are checked at every use.
 *
 * @module
 */

import { uuid } from "../crypto/ids.ts";
import type { Clock, RandomBytes } from "../environment.ts";
import {
  acceptClaims,
  type Claims,
  decodeClaims,
  decodeHeader,
  invalidToken,
  type TokenExpectation,
  tokenCharsMax,
} from "./claims.ts";
import { isSignedBy, signCompact } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { tokenTtlSecondsMax } from "./key_ring_record.ts";
import { TokenCache, type VerifiedToken } from "./token_cache.ts";

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
    const times = { iat, exp: iat + ttlSeconds, jti: uuid(this.#random) };
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
