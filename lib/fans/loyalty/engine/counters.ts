/**
 * Counters of a user's actions. An action that arrives late counts in the step in which it happened, so counters do not depend on
 * the order of arrival. Steps in which no late action can count any more are dropped when something is added.
 *
 * @module
 */

import { bucketOf, type CountedUnit } from "../../../base/calendar/mod.ts";
import { addBounded, addDecimals } from "../../../base/text/mod.ts";
import { type CounterWindow, ownValue } from "../config/scope.ts";
import type { Counter, CounterBuckets } from "../user/state.ts";

/** The time at which something counts. */
export interface CountingTime {
  /** Unix ms. */
  readonly at: number;
  readonly timeZone: string;
}

/** The part of a counter that is meant, where it counts for each value of an action. */
interface OfValue {
  /** Key of the value. */
  readonly value?: string | undefined;
}

/** Most steps of values that a counter remembers, in any order of use. */
const valueStepsMax = 1_000;
/** An action may arrive a week after it happened, and counts in windows of minutes for a day. */
const lateSteps: Readonly<Record<CountedUnit, number>> = {
  minute: 1_440,
  hour: 7 * 24,
  day: 7,
  week: 1,
  sundayWeek: 1,
  month: 1,
  year: 1,
};

/** Returns a counter after an amount was added. A streak takes any amount as a sign of activity. */
export function addToCounter(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone, amount, value }: CountingTime & OfValue & { readonly amount: number },
): Counter {
  if (window.kind === "streak") return streakAfter(counter, window.unit, bucketOf(window.unit, timeZone, at));
  const step = window.kind === "total" ? null : bucketOf(window.unit, timeZone, at);
  if (value !== undefined) return withValue(valuesOf(counter), window, { value, step, amount });
  if (window.kind === "total" || step === null) return { total: addBounded(totalOf(counter), amount) };
  return { buckets: withBucket(bucketsOf(counter), window, { step, amount }) };
}

/** Returns a counter as if an amount had not been added at a time. A time that left the window changes nothing. */
export function subtractFromCounter(
  counter: Counter,
  window: CounterWindow,
  { at, timeZone, amount, value }: CountingTime & OfValue & { readonly amount: number },
): Counter {
  if (window.kind === "streak") return counter;
  const step = window.kind === "total" ? null : bucketOf(window.unit, timeZone, at);
  if (value !== undefined) {
    const { [value]: before, ...others } = valuesOf(counter);
    const after = before === undefined ? null : lessened(before, step, amount);
    return { values: after === null ? others : { ...valuesOf(counter), [value]: after } };
  }
  if (step === null) return { total: Math.max(0, addDecimals(totalOf(counter), -amount)) };
  return { buckets: withoutAmount(bucketsOf(counter), step, amount) };
}

/**
 * Returns a counter that keeps at most so many steps beyond those of its window, or as many of its values. A total and a streak stay
 * as they are.
 */
export function shrinkCounter(
  counter: Counter,
  window: CounterWindow | undefined,
  { at, timeZone, most }: CountingTime & { readonly most: number },
): Counter {
  if ("values" in counter) {
    const step = window?.kind === "buckets" ? bucketOf(window.unit, timeZone, at) : null;
    return { values: withinSteps(counter.values, window, step, most) };
  }
  if (!("buckets" in counter) || window?.kind !== "buckets") return counter;
  return { buckets: counter.buckets.slice(-(window.last + most)) };
}

/**
 * Returns the value of a counter for an action at a time: that of the fullest window with this time. It differs from the window that
 * ends then only where later actions arrived before.
 */
export function readCounter(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone, value }: CountingTime & OfValue,
): number {
  if (counter === undefined) return 0;
  if (window.kind === "streak") return streakAt(counter, bucketOf(window.unit, timeZone, at));
  const counted = value === undefined ? undefined : ownValue(valuesOf(counter), value);
  if (window.kind === "total") return value === undefined ? totalOf(counter) : totalIn(counted);
  const buckets = value === undefined ? bucketsOf(counter) : bucketsIn(counted);
  return fullest(buckets, countingStep(buckets, window, bucketOf(window.unit, timeZone, at)), window.last);
}

/** Returns the number of values in the window of a counter, in the fullest one with this time. */
export function countValues(
  counter: Counter | undefined,
  window: CounterWindow,
  { at, timeZone }: CountingTime,
): number {
  if (counter === undefined) return 0;
  const counted = Object.values(valuesOf(counter));
  if (window.kind !== "buckets") return counted.filter(value => totalIn(value) > 0).length;
  const { unit, last } = window;
  const step = bucketOf(unit, timeZone, at);
  const steps = new Set(counted.flatMap(value => bucketsIn(value).map(([index]) => index)));
  const ends = [step, ...[...steps].filter(index => index > step && index < step + last)];
  return Math.max(
    ...ends.map(end => counted.filter(value => sumUpTo(bucketsIn(value), end, last) > 0).length),
  );
}

/** Returns the number of steps that a counter keeps, of one value where it is given. A total and a streak are one. */
export function stepsKept(counter: Counter | undefined, value?: string): number {
  if (counter === undefined) return 0;
  if ("buckets" in counter) return counter.buckets.length;
  if (!("values" in counter)) return 1;
  if (value === undefined) return valueSteps(counter.values);
  const counted = ownValue(counter.values, value);
  return counted === undefined ? 0 : bucketsIn(counted).length || 1;
}

function totalOf(counter: Counter | undefined): number {
  return counter !== undefined && "total" in counter ? counter.total : 0;
}

function bucketsOf(counter: Counter | undefined): CounterBuckets {
  return counter !== undefined && "buckets" in counter ? counter.buckets : [];
}

type BucketWindow = Extract<CounterWindow, { readonly kind: "buckets" }>;

/** Returns the step in which an action counts: its own, or the oldest one in which late actions count. */
function countingStep(buckets: CounterBuckets, { unit }: Pick<BucketWindow, "unit">, step: number): number {
  return Math.max(step, (buckets.at(-1)?.[0] ?? step) - lateSteps[unit]);
}

/** Adds to the bucket of a step. */
function withBucket(
  buckets: CounterBuckets,
  window: BucketWindow,
  { step, amount }: { readonly step: number; readonly amount: number },
): CounterBuckets {
  const newest = buckets.at(-1)?.[0] ?? step;
  if (step >= newest) {
    const first = step - window.last - lateSteps[window.unit] + 1;
    const kept = (buckets[0]?.[0] ?? first) < first ? buckets.filter(([index]) => index >= first) : buckets;
    const current = kept.at(-1);
    if (current === undefined || current[0] < step) return [...kept, [step, addBounded(0, amount)]];
    return kept.with(-1, [step, addBounded(current[1], amount)]);
  }
  const counted = countingStep(buckets, window, step);
  const index = buckets.findIndex(([bucket]) => bucket >= counted);
  const found = buckets[index];
  if (found?.[0] === counted) return buckets.with(index, [counted, addBounded(found[1], amount)]);
  return buckets.toSpliced(index, 0, [counted, addBounded(0, amount)]);
}

function withoutAmount(buckets: CounterBuckets, step: number, amount: number): CounterBuckets {
  return buckets.flatMap(([bucket, before]): CounterBuckets => {
    const after = bucket === step ? Math.max(0, addDecimals(before, -amount)) : before;
    return after === 0 && bucket === step ? [] : [[bucket, after]];
  });
}

function sumUpTo(buckets: CounterBuckets, end: number, last: number): number {
  return buckets.reduce(
    (sum, [index, amount]) => (index <= end && index > end - last ? addDecimals(sum, amount) : sum),
    0,
  );
}

function fullest(buckets: CounterBuckets, step: number, last: number): number {
  let most = sumUpTo(buckets, step, last);
  for (const [end] of buckets) {
    if (end > step && end < step + last) most = Math.max(most, sumUpTo(buckets, end, last));
  }
  return most;
}

type CountedValue = number | CounterBuckets;
type CountedValues = Readonly<Record<string, CountedValue>>;

function valuesOf(counter: Counter | undefined): CountedValues {
  return counter !== undefined && "values" in counter ? counter.values : {};
}

function totalIn(counted: CountedValue | undefined): number {
  return typeof counted === "number" ? counted : 0;
}

function bucketsIn(counted: CountedValue | undefined): CounterBuckets {
  return typeof counted === "object" ? counted : [];
}

function withValue(
  values: CountedValues,
  window: Exclude<CounterWindow, { readonly kind: "streak" }>,
  { value, step, amount }: { readonly value: string; readonly step: number | null; readonly amount: number },
): Counter {
  const before = ownValue(values, value);
  const after =
    window.kind === "total" || step === null
      ? addBounded(totalIn(before), amount)
      : withBucket(bucketsIn(before), window, { step, amount });
  const all = { ...values, [value]: after };
  return { values: withinSteps(all, window, step, valueStepsMax) };
}

function valueSteps(values: CountedValues): number {
  let steps = 0;
  for (const value in values) steps += bucketsIn(values[value]).length || 1;
  return steps;
}

/** Drops steps that are too old for late actions, then those of late actions, and then the values that were used first. */
function withinSteps(
  values: CountedValues,
  window: CounterWindow | undefined,
  step: number | null,
  most: number,
): CountedValues {
  let kept = values;
  let steps = valueSteps(kept);
  if (window?.kind === "buckets" && step !== null) {
    for (const late of [lateSteps[window.unit], 0]) {
      if (steps <= most) break;
      kept = withStepsFrom(kept, step - window.last - late + 1);
      steps = valueSteps(kept);
    }
  }
  if (steps <= most) return kept;
  const entries = Object.entries(kept);
  let dropped = 0;
  for (; steps > most; dropped++) steps -= bucketsIn(entries[dropped]?.[1]).length || 1;
  return Object.fromEntries(entries.slice(dropped));
}

function withStepsFrom(values: CountedValues, first: number): CountedValues {
  return Object.fromEntries(
    Object.entries(values).flatMap(([value, counted]): readonly (readonly [string, CountedValue])[] => {
      if (typeof counted === "number") return [[value, counted]];
      const recent = counted.filter(([index]) => index >= first);
      return recent.length === 0 ? [] : [[value, recent]];
    }),
  );
}

/** Returns what remains of a value; null: nothing. */
function lessened(counted: CountedValue, step: number | null, amount: number): CountedValue | null {
  if (typeof counted === "number" || step === null)
    return totalIn(counted) > amount ? addDecimals(totalIn(counted), -amount) : null;
  const left = withoutAmount(counted, step, amount);
  return left.length === 0 ? null : left;
}

type Run = readonly [last: number, length: number];

function runsOf(counter: Counter | undefined): readonly Run[] {
  if (counter === undefined || !("length" in counter)) return [];
  return [[counter.last, counter.length], ...(counter.earlier ?? [])];
}

/** Adds a bucket to the run that it continues, or that it joins with the next one. */
function streakAfter(counter: Counter | undefined, unit: CountedUnit, bucket: number): Counter {
  const runs = runsOf(counter);
  const newest = runs[0]?.[0] ?? bucket;
  const isKnown = runs.some(([last, length]) => bucket <= last && bucket > last - length);
  if (counter !== undefined && (isKnown || bucket < newest - lateSteps[unit])) return counter;
  const next = runs.find(([last, length]) => last - length === bucket);
  const previous = runs.find(([last]) => last === bucket - 1);
  const joined: Run = [next?.[0] ?? bucket, 1 + (next?.[1] ?? 0) + (previous?.[1] ?? 0)];
  const others = runs.filter(run => run !== next && run !== previous);
  const [[last, length], ...earlier] = [...others, joined].sort(([a], [b]) => b - a) as [Run, ...Run[]];
  const joinable = earlier.filter(([end]) => end >= last - lateSteps[unit] - 1);
  return joinable.length === 0 ? { last, length } : { last, length, earlier: joinable };
}

/** Returns the length of the run with a bucket, or of the one that ends before it. */
function streakAt(counter: Counter, bucket: number): number {
  const runs = runsOf(counter);
  const own = runs.find(([last, length]) => bucket <= last && bucket > last - length);
  return (own ?? runs.find(([last]) => last === bucket - 1))?.[1] ?? 0;
}
