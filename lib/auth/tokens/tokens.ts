/**
 * Tokens: compact JWTs signed by the key ring, and their verification.
 *
 * A signature is checked once per token and minute; typ, issuer, audience and times are checked at every use.
 *
 * @module
 */

import type { Clock, RandomBytes } from "../environment.ts";
import { uuid } from "../crypto/ids.ts";
import {
  acceptClaims,
  type Claims,
  decodeClaims,
  decodeHeader,
  invalidToken,
  type TokenExpectation,
  tokenCharsMax,
} from "./claims.ts";
import { signCompact, verifyCompact } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { tokenTtlSecondsMax } from "./key_ring_record.ts";
import { TokenCache, type VerifiedToken } from "./token_cache.ts";

/** What tokens need. */
export interface TokensOptions {
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** What a new token says. */
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

/** Signs and verifies tokens. */
export interface Tokens {
  /**
   * A signed token with `iat`, `exp` and a unique `jti`.
   *
   * @throws {RangeError} The life is out of bounds, or the token would be longer than {@linkcode tokenCharsMax}.
   * @throws {TypeError} `claims` names a registered claim.
   */
  sign(content: TokenContent): Promise<string>;
  /**
   * The claims of a token of ours that is as expected. Answers (or throws) at once where the signature was checked
   * within the last minute, so that hot paths need no microtask; else answers by a promise.
   *
   * @throws {AppError} `token_expired`; `invalid_token` for every other fault of the token; `storage_unavailable` when
   * the token names an unknown key and the ring cannot be read.
   */
  verify(token: string, expected: TokenExpectation): Claims | Promise<Claims>;
  /** Whether a token says that a key of this ring signed it: no proof, but a reason to show it to nobody else. */
  namesOwnKey(token: string): boolean;
}

const registeredClaims: readonly string[] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

/** Creates the tokens of a key ring. Each has a cache of its own: create one per process. */
export function createTokens(options: TokensOptions): Tokens {
  return new RingTokens(options);
}

class RingTokens implements Tokens {
  readonly #ring: KeyRing;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #cache = new TokenCache();

  constructor(options: TokensOptions) {
    this.#ring = options.ring;
    this.#clock = options.clock;
    this.#random = options.random;
  }

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

  verify(token: string, expected: TokenExpectation): Claims | Promise<Claims> {
    const now = this.#clock();
    const known = this.#cache.get(token, now);
    if (known !== undefined && this.#ring.find(known.pair.kid, now)?.pair === known.pair) {
      return acceptClaims(known, expected, now);
    }
    return this.#verifyNew(token, expected);
  }

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
    const known = this.#ring.find(header.kid, this.#clock()) ?? (await this.#ring.lookup(header.kid));
    if (known === undefined) throw invalidToken("kid");
    const { pair } = known;
    if (header.alg !== pair.algorithm) throw invalidToken("alg");
    if (!(await verifyCompact(pair, token))) throw invalidToken("signature");
    const claims = decodeClaims(token);
    if (claims === undefined) throw invalidToken("claims");
    return { typ: header.typ, claims, pair };
  }
}
