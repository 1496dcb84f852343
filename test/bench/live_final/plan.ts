/**
 * The plan of the show: who does what when, made from a seed before it begins. Arrivals do not wait for answers, so that a slow
 * server cannot make its own load smaller.
 */

import { createRandom } from "../../../adapters/conformance/random.ts";

/** Steps of a fan. */
export const steps = ["arrive", "predict", "share", "profile", "board", "history"] as const;
/** A step of a fan. */
export type Step = (typeof steps)[number];

/** Matches that fans predict. */
export const matches = 6;
/** Most shares of a fan that earn a point in a day; the plan has no more. */
const sharesMax = 3;

/** The plan, steps in the order of their time. */
export interface Plan {
  readonly fans: number;
  /** Ms from the beginning. */
  readonly at: Float64Array;
  readonly fan: Uint32Array;
  /** Index into {@linkcode steps}. */
  readonly step: Uint8Array;
  /** The match of a prediction. */
  readonly match: Uint8Array;
}

/** Share of the show at which something makes fans act at once: kick-off, goals, half-time, final whistle. */
const moments = [0.2, 0.31, 0.45, 0.5, 0.62, 0.77, 0.9] as const;
/** Share of the show over which a burst decays. */
const burst = 0.04;

/** Makes the plan of a show of some ms. */
export function createPlan(fans: number, durationMs: number, seed: number): Plan {
  const { next: random } = createRandom(seed);
  const events: { at: number; fan: number; step: Step; match: number }[] = [];
  for (let fan = 0; fan < fans; fan++) {
    const arriveAt = arrival(random);
    const add = (step: Step, share: number, match = 0): void => {
      events.push({ at: Math.min(share, 0.97) * durationMs, fan, step, match });
    };
    add("arrive", arriveAt);
    const first = Math.floor(random() * matches);
    const predictions = 1 + Math.floor(random() * 3);
    for (let n = 0; n < predictions; n++) add("predict", reaction(random, arriveAt), (first + n) % matches);
    for (let n = Math.floor(random() * (sharesMax + 1)); n > 0; n--) add("share", reaction(random, arriveAt));
    for (let n = 1 + Math.floor(random() * 2); n > 0; n--) add("profile", reaction(random, arriveAt));
    for (let n = 1 + Math.floor(random() * 3); n > 0; n--) add("board", reaction(random, arriveAt));
    if (random() < 0.1) add("history", reaction(random, arriveAt));
  }
  events.sort((a, b) => a.at - b.at);
  return {
    fans,
    at: Float64Array.from(events, event => event.at),
    fan: Uint32Array.from(events, event => event.fan),
    step: Uint8Array.from(events, event => steps.indexOf(event.step)),
    match: Uint8Array.from(events, event => event.match),
  };
}

/** Three waves: before kick-off, at kick-off, and late ones until the last goal. */
function arrival(random: () => number): number {
  const wave = random();
  if (wave < 0.5) return random() * 0.2;
  if (wave < 0.8) return 0.2 + random() ** 2 * 0.12;
  return 0.2 + random() * 0.55;
}

/** Soon after a moment behind the arrival, soonest most likely; or at any time. */
function reaction(random: () => number, arriveAt: number): number {
  const ahead = moments.filter(moment => moment > arriveAt);
  if (ahead.length === 0 || random() < 0.4) return arriveAt + 0.01 + random() * (0.96 - arriveAt);
  const moment = ahead[Math.floor(random() * ahead.length)] ?? 0.9;
  return moment + random() ** 2 * burst;
}
