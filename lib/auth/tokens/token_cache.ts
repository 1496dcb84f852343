/**
 * A cache of tokens with verified signatures. The claims are checked at every use.
 *
 * It is no `Cache` of lib/background: it is bounded in bytes as well, a hit does no bookkeeping, and it is keyed by the
 * last 43 characters of the token, the end of the signature. Hashing those instead of 400 halves the cost of a hit.
 * Tokens with the same end only displace each other, as the entry holds the token to compare.
 *
 * @module
 */

import type { Claims } from "./claims.ts";
import type { KeyPair } from "./jose.ts";

/** Age from which a signature is verified again. */
const ageMsMax = 60_000;

/** A token with a verified signature. */
export interface VerifiedToken {
  readonly typ: string;
  readonly claims: Claims;
  /** The pair that verified it. */
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
export interface TokenCacheOptions {
  /** @default 100000 */
  readonly entriesMax?: number;
  /** Estimated memory. @default 64 MiB */
  readonly bytesMax?: number;
}

/** Caches verified tokens. */
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
