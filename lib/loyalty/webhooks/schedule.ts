/**
 * When a message that a service did not take is sent again: 5 s after the first attempt, then after four times as long each time,
 * up to 8 h, until 3 days have passed.
 *
 * | attempt | 2   | 3    | 4    | 5       | 6      | 7      | 8     | 9 and more |
 * |---------|-----|------|------|---------|--------|--------|-------|------------|
 * | after   | 5 s | 20 s | 80 s | 5.3 min | 21 min | 85 min | 5.7 h | 8 h        |
 *
 * Each pause is up to a fifth shorter or longer, so that what failed together does not come again together.
 *
 * @module
 */

import { shardOf } from "../../text/mod.ts";

/** Pause after the first attempt, in ms. */
export const webhookRetryMsMin = 5_000;
/** How many times longer each pause is than the one before. */
export const webhookRetryFactor = 4;
/** Longest pause, in ms: 8 hours. A service that asks for a longer one is asked again then. */
export const webhookRetryMsMax: number = 8 * 3_600_000;
/** By which part a pause is shorter or longer. */
export const webhookRetryJitter = 0.2;
/** How long a message is tried, in ms: 3 days. */
export const webhookTriedMsMax: number = 3 * 24 * 3_600_000;

const jitterSteps = 10_001;

/** A failed attempt. */
export interface FailedAttempt {
  /** Of the message: what decides by how much the pause differs. */
  readonly id: string;
  /** How often it was tried, this one included. */
  readonly attempts: number;
  /** How long the service asked to be left alone, in ms. */
  readonly retryAfterMs: number | null;
}

/** How long to wait after an attempt, in ms: never shorter than the service asked for, within the longest pause. */
export function retryDelayMs({ id, attempts, retryAfterMs }: FailedAttempt): number {
  const pause = Math.min(webhookRetryMsMax, webhookRetryMsMin * webhookRetryFactor ** (attempts - 1));
  const place = shardOf(`${id}#${attempts}`, jitterSteps) / (jitterSteps - 1);
  const jittered = Math.round(pause * (1 + webhookRetryJitter * (2 * place - 1)));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, webhookRetryMsMax));
}
