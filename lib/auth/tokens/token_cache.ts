/**
 * Remembers which tokens carried a good signature, so that a token seen before costs no cryptography.
 *
 * Two generations of a Map: when the younger is full or old it becomes the elder, and the elder is dropped as a whole.
 * So there is no bookkeeping on a hit, and eviction is one assignment. Only the signature is remembered; whoever asks
 * checks the claims each time.
 *
 * The Map is keyed by the end of the token, which is the end of its signature, and the entry holds the token to compare:
 * hashing 43 characters instead of 400 halves the cost of a hit. Tokens with the same end displace each other and no
 * more; that needs two good signatures which agree in 256 bits.
 *
 * @module
 */

import type { Claims } from "./claims.ts";
import type { KeyPair } from "./jose.ts";

/** Age in ms at which a remembered signature is checked again. */
export const tokenCacheAgeMsMax = 60_000;
/** Most tokens remembered. */
export const tokenCacheEntriesMax = 100_000;
/** Most memory for remembered tokens, in bytes, as estimated by {@linkcode entryBytes}. */
export const tokenCacheBytesMax = 67_108_864;

/** A token whose signature was good. */
export interface VerifiedToken {
  readonly typ: string;
  readonly claims: Claims;
  /** The pair whose key verified it. */
  readonly pair: KeyPair;
}

/** Length of the end of a token that keys the cache: 256 bits in base64url. */
const tailChars = 43;

interface Entry extends VerifiedToken {
  readonly token: string;
  /** Unix ms. */
  readonly until: number;
}

/** Memory of an entry in bytes, as measured for access tokens: the token, its parsed claims and the objects around them. */
export function entryBytes(token: string): number {
  return 512 + 2 * token.length;
}

/** A bounded memory of verified tokens. */
export class TokenCache {
  #young = new Map<string, Entry>();
  #elder = new Map<string, Entry>();
  #youngSince = Number.NEGATIVE_INFINITY;
  #youngBytes = 0;

  /** What was remembered of the token, unless its time is over at `now`, in Unix ms. */
  get(token: string, now: number): VerifiedToken | undefined {
    const tail = token.slice(-tailChars);
    const entry = this.#young.get(tail) ?? this.#elder.get(tail);
    return entry !== undefined && now < entry.until && entry.token === token ? entry : undefined;
  }

  /** Remembers the token from `now` (Unix ms) until it expires, for {@linkcode tokenCacheAgeMsMax} at most. */
  put(token: string, verified: VerifiedToken, now: number): void {
    const until = Math.min(verified.claims.exp * 1_000, now + tokenCacheAgeMsMax);
    if (until <= now) return;
    const bytes = entryBytes(token);
    if (this.#isFull(bytes) || now - this.#youngSince >= tokenCacheAgeMsMax) this.#age(now);
    const tail = token.slice(-tailChars);
    const displaced = this.#young.get(tail);
    this.#youngBytes += displaced === undefined ? bytes : bytes - entryBytes(displaced.token);
    const { typ, claims, pair } = verified;
    this.#young.set(tail, { token, typ, claims, pair, until });
  }

  /** The number of tokens remembered. */
  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  #isFull(bytes: number): boolean {
    return this.#young.size >= tokenCacheEntriesMax / 2 || this.#youngBytes + bytes > tokenCacheBytesMax / 2;
  }

  #age(now: number): void {
    this.#elder = this.#young;
    this.#young = new Map();
    this.#youngSince = now;
    this.#youngBytes = 0;
  }
}
