/**
 * Counting what a user did, as far back as a window looks. What left the window is dropped whenever something is added.
 *
 * @module
 */

import { bucketOf } from "../../calendar/mod.ts";
import type { CounterWindow } from "../config/scope.ts";
import type { Counter } from "../user/state.ts";

/** When something counts. */
export interface CountingTime {
  /** Unix ms. */
  readonly at: number;
  readonly timeZone: string;
}

/** Largest amount that is counted either way. What is beyond it has no JSON, and would be something else when it is read again. */
export const countedMax: number = Number.MAX_SAFE_INTEGER;

/** The counter after an amount was added. A streak takes any amount as one sign of life. */
export function addToCounter(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone, amount }: CountingTime & { readonly amount: number },
): Counter {
  if (window.kind === "total") return { total: sum(totalOf(counter), amount) };
  const bucket = bucketOf(window.unit, timeZone, at);
  if (window.kind === "streak") return streakAfter(counter, bucket);
  const first = bucket - window.last + 1;
  const buckets = bucketsOf(counter).filter(([index]) => index >= first);
  const newest = buckets.at(-1);
  if (newest === undefined || newest[0] < bucket) return { buckets: [...buckets, [bucket, sum(0, amount)]] };
  return {
    buckets: buckets.map(entry => (entry === newest ? ([entry[0], sum(entry[1], amount)] as const) : entry)),
  };
}

/** The counter as it would be had an amount not been added at a time; a time that left the window changes nothing. */
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

/** What a counter shows at a time. */
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

function sum(counted: number, amount: number): number {
  return Math.min(Math.max(counted + amount, -countedMax), countedMax);
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
