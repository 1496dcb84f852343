/**
 * Counters of a user's actions. Steps that left the window of a counter are dropped when something is added.
 *
 * @module
 */

import { bucketOf } from "../../calendar/mod.ts";
import { type CounterWindow, ownValue } from "../config/scope.ts";
import type { Counter, UserState } from "../user/state.ts";

/** The time at which something counts. */
interface CountingTime {
  /** Unix ms. */
  readonly at: number;
  readonly timeZone: string;
}

/** Larger amounts have no exact JSON, and would change when they are read again. */
const amountMax: number = Number.MAX_SAFE_INTEGER;
/** Longer than the longest period of the calendar. */
const orphanedCountersKeptMs: number = 400 * 24 * 60 * 60 * 1_000;
const orphanedStepsMax = 1_000;

/** Returns a counter after an amount was added. A streak takes any amount as a sign of activity. */
export function addToCounter(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone, amount }: CountingTime & { readonly amount: number },
): Counter {
  if (window.kind === "total") return { total: boundedSum(totalOf(counter), amount) };
  const bucket = bucketOf(window.unit, timeZone, at);
  if (window.kind === "streak") return streakAfter(counter, bucket);
  const first = bucket - window.last + 1;
  const buckets = bucketsOf(counter).filter(([index]) => index >= first);
  const newest = buckets.at(-1);
  if (newest === undefined || newest[0] < bucket) {
    return { buckets: [...buckets, [bucket, boundedSum(0, amount)]] };
  }
  return { buckets: buckets.with(-1, [newest[0], boundedSum(newest[1], amount)]) };
}

/** Returns a counter as if an amount had not been added at a time. A time that left the window changes nothing. */
export function subtractFromCounter(
  counter: Counter,
  window: CounterWindow,
  { at, timeZone, amount }: CountingTime & { readonly amount: number },
): Counter {
  if (window.kind === "streak") return counter;
  if (window.kind === "total") return { total: Math.max(0, totalOf(counter) - amount) };
  const bucket = bucketOf(window.unit, timeZone, at);
  return {
    buckets: bucketsOf(counter).map(entry =>
      entry[0] === bucket ? ([bucket, Math.max(0, entry[1] - amount)] as const) : entry,
    ),
  };
}

/** Returns the value of a counter at a time. */
export function readCounter(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone }: CountingTime,
): number {
  if (counter === undefined) return 0;
  if (window.kind === "total") return totalOf(counter);
  const bucket = bucketOf(window.unit, timeZone, at);
  if (window.kind === "streak") {
    return "length" in counter && bucket - counter.last <= 1 ? counter.length : 0;
  }
  const first = bucket - window.last + 1;
  return bucketsOf(counter).reduce((sum, [index, amount]) => (index >= first ? sum + amount : sum), 0);
}

/** The counters of a state, and since when some have had no definition. */
type StateCounters = Pick<UserState, "counters" | "orphanedCounters">;

/**
 * Returns the counters that are kept under another configuration, which defines the named ones. Orphaned counters are kept for a
 * while, so that a rule that was removed and restored finds the limits of its users. Those orphaned longest go first.
 */
export function retainCounters(
  { counters, orphanedCounters }: StateCounters,
  { named, at }: { readonly named: ReadonlySet<string>; readonly at: number },
): StateCounters {
  const orphanedAt = (key: string): number => ownValue(orphanedCounters, key) ?? at;
  const orphans = Object.entries(counters)
    .filter(([key]) => !named.has(key) && orphanedAt(key) + orphanedCountersKeptMs > at)
    .sort(([a], [b]) => orphanedAt(b) - orphanedAt(a));
  const retained = new Map<string, number>();
  let steps = 0;
  for (const [key, counter] of orphans) {
    steps += "buckets" in counter ? Math.max(1, counter.buckets.length) : 1;
    if (steps > orphanedStepsMax) break;
    retained.set(key, orphanedAt(key));
  }
  const entries = Object.entries(counters).filter(([key]) => named.has(key) || retained.has(key));
  return { counters: Object.fromEntries(entries), orphanedCounters: Object.fromEntries(retained) };
}

function boundedSum(value: number, amount: number): number {
  return Math.min(Math.max(value + amount, -amountMax), amountMax);
}

function totalOf(counter: Counter | undefined): number {
  return counter !== undefined && "total" in counter ? counter.total : 0;
}

function bucketsOf(counter: Counter | undefined): readonly (readonly [bucket: number, amount: number])[] {
  return counter !== undefined && "buckets" in counter ? counter.buckets : [];
}

/** A bucket before the last one, as after a change of the time zone, counts as the last one. */
function streakAfter(counter: Counter | undefined, bucket: number): Counter {
  if (counter === undefined || !("length" in counter)) return { last: bucket, length: 1 };
  if (bucket <= counter.last) return counter;
  return { last: bucket, length: bucket === counter.last + 1 ? counter.length + 1 : 1 };
}
