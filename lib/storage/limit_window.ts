/**
 * The sliding window of a limit, which adapters share.
 *
 * Uses are counted in buckets of a hundredth of the window. A bucket counts until its youngest use can be a whole window old, so
 * that no window of time ever holds more than the limit, and a unit comes back at most a hundredth of the window late.
 *
 * @module
 */

import type { LimitRule, LimitVerdict } from "./ports.ts";

export const windowBuckets = 100;

/** Longest time for which a use may be ahead of the clock, in ms, before the clock counts as put back. */
export const useAheadMsMax = 60_000;

/** Returns the bucket of a time in Unix ms. */
export function bucketAt(at: number, { windowMs }: Pick<LimitRule, "windowMs">): number {
  return Math.floor((at * windowBuckets) / windowMs);
}

/** The uses of a rule by a subject. */
export interface WindowUse {
  /** Units that count. */
  readonly total: number;
  /** The newest bucket that counts. */
  readonly newest: number;
  /** The bucket with whose end a refused cost would be allowed; null where it was allowed. */
  readonly awaited: number | null;
}

/** Returns the verdict on a cost at `now` (Unix ms). */
export function windowVerdict(
  rule: LimitRule,
  { total, newest, awaited }: WindowUse,
  now: number,
): LimitVerdict {
  return {
    allowed: awaited === null,
    remaining: rule.limit - total,
    resetMs: total === 0 ? 0 : untilEnd(newest, rule, now),
    retryAfterMs: awaited === null ? 0 : untilEnd(awaited, rule, now),
  };
}

/** Returns the time in ms after which a bucket does not count any more, at least 1. */
function untilEnd(bucket: number, { windowMs }: LimitRule, now: number): number {
  return Math.max(1, Math.ceil(((bucket + windowBuckets + 1) * windowMs) / windowBuckets) - now);
}
