/** Reports of fans: pseudo-random predictions, compared with the real results. */

import type { Random } from "../../adapters/conformance/random.ts";
import type { Match, Slot } from "./fixtures.ts";

/** Outcomes of predictions and their points. */
export const pointsOf = { exact: 3, right: 1, wrong: 0 } as const;

/** One report of one fan on one match. */
export interface Report {
  /** Index of the fan. */
  readonly fan: number;
  readonly match: Match;
  readonly outcome: keyof typeof pointsOf;
  /** When the fan's device reports it, Unix ms. */
  readonly at: number;
  /** Time of a repetition: the same moment, or with the fan's next reports. */
  readonly again: "no" | "atOnce" | "later";
}

/** Behaviour of fans. */
export interface Habits {
  readonly random: Random;
  readonly fans: number;
  /** Time from a slot's begin within which fans report, in ms. Several fans share a millisecond. */
  readonly spreadMs: number;
}

/** Of a hundred reports, how many are sent twice at the same moment, and how many again later. */
const percentAtOnce = 12;
const percentLater = 6;
/** Of a hundred matches, how many a fan misses. */
const percentMissed = 8;
/** One fan in so many never predicts anything. */
const idleFanEvery = 60;
/** Goals that fans predict for a team, as often as they do. */
const goals = [0, 0, 0, 1, 1, 1, 1, 2, 2, 3] as const;

/**
 * The reports on a slot's matches, fan by fan. All reports of one fan have the same time: which of them takes
 * effect first is open, and with it when the fan reached a score, unless it was all in the same millisecond.
 */
export function reportsOf(slot: Slot, { random, fans, spreadMs }: Habits): readonly Report[] {
  const reports: Report[] = [];
  for (let fan = 0; fan < fans; fan++) {
    if (fan % idleFanEvery === idleFanEvery - 1) continue;
    const at = slot.at + random.integer(spreadMs);
    for (const match of slot.matches) {
      if (random.chance(percentMissed / 100)) continue;
      const outcome = outcomeOf(match, [random.pick(goals), random.pick(goals)]);
      reports.push({ fan, match, outcome, at, again: againOf(random) });
    }
  }
  return reports;
}

function outcomeOf(
  { goals: [home, guests] }: Match,
  [predictedHome, predictedGuests]: readonly [number, number],
): Report["outcome"] {
  if (home === predictedHome && guests === predictedGuests) return "exact";
  return Math.sign(home - guests) === Math.sign(predictedHome - predictedGuests) ? "right" : "wrong";
}

function againOf(random: Random): Report["again"] {
  const percent = random.integer(100);
  if (percent < percentAtOnce) return "atOnce";
  return percent < percentAtOnce + percentLater ? "later" : "no";
}
