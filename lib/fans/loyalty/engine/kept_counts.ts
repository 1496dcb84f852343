/**
 * Bounds of all that a state keeps to count with: many small counters and lists of values together would not fit into a record.
 *
 * @module
 */

import { type CounterWindow, ownValue } from "../config/scope.ts";
import type { ChallengeProgress, Counter, UserState } from "../user/state.ts";
import { type CountingTime, shrinkCounter, stepsKept } from "./counters.ts";

/** Longer than the longest period of the calendar. */
const orphanedCountersKeptMs: number = 400 * 24 * 60 * 60 * 1_000;
const orphanedStepsMax = 1_000;
/**
 * Most values, and steps for late actions, of all counters of a user together: some 30 bytes each. A configuration bounds the steps
 * of windows.
 */
const spareStepsMax = 12_000;
/** Most values of all distinct missions of a user together: 15 bytes each. */
const missionValuesMax = 8_000;

/** The counters of a state, and since when some have had no definition. */
type StateCounters = Pick<UserState, "counters" | "orphanedCounters">;

/**
 * Returns the counters that are kept under another configuration, which defines the named ones. Orphaned counters are kept for a
 * while, so that a rule that was removed and restored finds the limits of its users. Those orphaned longest go first.
 */
export function retainCounters(
  { counters, orphanedCounters }: StateCounters,
  { named, at }: { readonly named: ReadonlyMap<string, unknown>; readonly at: number },
): StateCounters {
  const orphanedAt = (key: string): number => ownValue(orphanedCounters, key) ?? at;
  const orphans = Object.entries(counters)
    .filter(([key]) => !named.has(key) && orphanedAt(key) + orphanedCountersKeptMs > at)
    .sort(([a], [b]) => orphanedAt(b) - orphanedAt(a));
  const retained = new Map<string, number>();
  let steps = 0;
  for (const [key, counter] of orphans) {
    steps += Math.max(1, stepsKept(counter));
    if (steps > orphanedStepsMax) break;
    retained.set(key, orphanedAt(key));
  }
  const entries = Object.entries(counters).filter(([key]) => named.has(key) || retained.has(key));
  return { counters: Object.fromEntries(entries), orphanedCounters: Object.fromEntries(retained) };
}

/** Returns counters within the bound of a user. The largest ones lose steps of late actions and the values used first. */
export function boundCounters(
  counters: UserState["counters"],
  windows: ReadonlyMap<string, CounterWindow>,
  time: CountingTime,
): UserState["counters"] {
  const entries = Object.entries(counters);
  const spare = entries.map(([key, counter]) => spareSteps(counter, windows.get(key)));
  const most = fairShare(spare, spareStepsMax);
  if (most === null) return counters;
  return Object.fromEntries(
    entries.map(([key, counter], index): readonly [string, Counter] => {
      const isLarge = (spare[index] ?? 0) > most;
      return [key, isLarge ? shrinkCounter(counter, windows.get(key), { ...time, most }) : counter];
    }),
  );
}

function spareSteps(counter: Counter, window: CounterWindow | undefined): number {
  if ("values" in counter) return stepsKept(counter);
  return window?.kind === "buckets" ? Math.max(0, stepsKept(counter) - window.last) : 0;
}

/** Returns challenges within the bound of a user. The missions with the most values forget those that they counted first. */
export function boundMissionValues(challenges: UserState["challenges"]): UserState["challenges"] {
  const lists = Object.values(challenges).flatMap(({ values = {} }) => Object.values(values));
  const most = fairShare(
    lists.map(({ length }) => length),
    missionValuesMax,
  );
  if (most === null) return challenges;
  return Object.fromEntries(
    Object.entries(challenges).map(([id, progress]): readonly [string, ChallengeProgress] => {
      if (progress.values === undefined) return [id, progress];
      const values = Object.entries(progress.values).map(([mission, list]) => [mission, list.slice(-most)]);
      return [id, { ...progress, values: Object.fromEntries(values) }];
    }),
  );
}

/** Returns the most that each size may be for all to be within a sum; null: they are. */
function fairShare(sizes: readonly number[], most: number): number | null {
  if (sizes.reduce((sum, size) => sum + size, 0) <= most) return null;
  let left = most;
  let others = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    if (size * others > left) break;
    left -= size;
    others -= 1;
  }
  return Math.max(1, Math.floor(left / others));
}
