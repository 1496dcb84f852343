/**
 * The retry schedule of messages: 5 s after the first attempt, then four times as long each time up to 8 h, for 3 days.
 *
 * | attempt | 2   | 3    | 4    | 5       | 6      | 7      | 8     | 9 and more |
 * |---------|-----|------|------|---------|--------|--------|-------|------------|
 * | after   | 5 s | 20 s | 80 s | 5.3 min | 21 min | 85 min | 5.7 h | 8 h        |
 *
 * Each pause is up to a fifth shorter or longer, so that messages which failed together are not retried together.
 *
 * @module
 */

import { shardOf } from "../../../base/text/mod.ts";

const retryMsMin = 5_000;
const retryFactor = 4;
const retryJitter = 0.2;
const jitterSteps = 10_001;
/** Longest pause in ms, also where a service asks for a longer one: 8 hours. */
export const retryMsMax: number = 8 * 3_600_000;
/** Time for which a message is tried, in ms: 3 days. */
export const triedMsMax: number = 3 * 24 * 3_600_000;

/** Computes the pause after a failed attempt, in ms: never shorter than the service asked for, within the longest pause. */
export function retryDelayMs({
  id,
  attempts,
  retryAfterMs,
}: {
  /** Id of the message, from which the jitter follows. */
  readonly id: string;
  /** Number of attempts so far, this one included. */
  readonly attempts: number;
  /** Pause that the service asked for, in ms. */
  readonly retryAfterMs: number | null;
}): number {
  const pause = Math.min(retryMsMax, retryMsMin * retryFactor ** (attempts - 1));
  const position = shardOf(`${id}#${attempts}`, jitterSteps) / (jitterSteps - 1);
  const jittered = Math.round(pause * (1 + retryJitter * (2 * position - 1)));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, retryMsMax));
}
