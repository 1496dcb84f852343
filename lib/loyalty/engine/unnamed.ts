import { ownValue } from "../config/own_property.ts";
import type { Counter, UserState } from "../user/state.ts";

/** How long what is counted is kept after a configuration ceased to name it, in ms: longer than the longest period of the calendar. */
export const unnamedKeptMs: number = 400 * 24 * 60 * 60 * 1_000;
/** Most steps of windows that all counters which are not named keep together; one without a window counts as one step. */
export const unnamedStepsMax = 1_000;

/** What is counted, and since when a part of it is not named. */
export type Counted = Pick<UserState, "counters" | "orphanedCounters">;

/**
 * What is kept of it under another configuration, which names these keys. A rule that was taken out by mistake, or for a
 * while, finds its limits as it left them. Beyond the bounds what has not been named for longest goes first.
 */
export function retainCounters(
  { counters, orphanedCounters }: Counted,
  { named, at }: { readonly named: ReadonlySet<string>; readonly at: number },
): Counted {
  const since = (key: string): number => ownValue(orphanedCounters, key) ?? at;
  const left = Object.entries(counters)
    .filter(([key]) => !named.has(key) && since(key) + unnamedKeptMs > at)
    .sort(([a], [b]) => since(b) - since(a));
  const kept = new Map<string, number>();
  let steps = 0;
  for (const [key, counter] of left) {
    steps += stepsOf(counter);
    if (steps > unnamedStepsMax) break;
    kept.set(key, since(key));
  }
  const entries = Object.entries(counters).filter(([key]) => named.has(key) || kept.has(key));
  return { counters: Object.fromEntries(entries), orphanedCounters: Object.fromEntries(kept) };
}

function stepsOf(counter: Counter): number {
  return "buckets" in counter ? Math.max(1, counter.buckets.length) : 1;
}
