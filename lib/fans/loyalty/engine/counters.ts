/**
 * Counters of a user's actions. An action that arrives late counts in the step in which it happened, so counters do not depend on
 * the order of arrival. Steps in which no late action can count any more are dropped when something is added.
 */

import {
  addDuration,
  bucketOf,
  type CountedUnit,
  type Duration,
  endOfPeriod,
} from "../../../base/calendar/mod.ts";
import { addBounded, addDecimals } from "../../../base/text/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { type CounterWindow, countedUnit, ownValue } from "../config/compiled.ts";
import type { Expiry } from "../config/fields.ts";
import type { Lot } from "../ledger/movements.ts";
import {
  type ChallengeProgress,
  type Counter,
  type CounterBuckets,
  timeZoneOf,
  type UserState,
} from "../user/state.ts";

interface CountingTime {
  /** Unix ms. */
  readonly at: number;
  readonly timeZone: string;
}

/** The part of a counter that is meant, where it counts for each value of an action. */
interface OfValue {
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
function shrinkCounter(
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

/** Points that expire at a time (Unix ms). */
interface Expiring {
  readonly amount: number;
  readonly expiresAt: number;
}

/** Returns the end of what begins at a time, in Unix ms. */
export function expiryTime(
  expires: Expiry,
  from: number,
  { timeZone, compiled }: { readonly timeZone: string; readonly compiled: CompiledConfig },
): number {
  return "endOf" in expires
    ? endOfPeriod(countedUnit(expires.endOf, compiled.config.weekStartsOn), timeZone, from)
    : endOfDuration(from, expires.after, timeZone);
}

/** A duration without hours and minutes ends with its last day. */
export function endOfDuration(from: number, duration: Duration, timeZone: string): number {
  const end = addDuration(from, duration, timeZone);
  const isOfDays = duration.hours === undefined && duration.minutes === undefined;
  return isOfDays ? endOfPeriod("day", timeZone, end - 1) : end;
}

/** Returns when points next expire without activity, or a reminder is due, in Unix ms; none: never. */
export function expiryInstants(compiled: CompiledConfig, state: UserState): readonly number[] {
  const timeZone = timeZoneOf(compiled, state, state.changedAt);
  const inactive = [...compiled.inactivity.keys()].flatMap(metricId => {
    const end = inactiveEnd(compiled, state, { metricId, timeZone });
    const hasLots = (ownValue(state.lots, metricId) ?? []).some(isUsable);
    return end === null || !hasLots ? [] : [end];
  });
  const reminders = [...compiled.reminders].flatMap(([metricId, { before }]) => {
    const lots = ownValue(state.lots, metricId) ?? [];
    const [first] = dueReminders(compiled, state, { metricId, lots, timeZone });
    return first === undefined ? [] : [earlier(first.expiresAt, before, timeZone)];
  });
  return [...inactive, ...reminders];
}

interface MetricPoints {
  readonly metricId: string;
  readonly lots: readonly Lot[];
  readonly timeZone: string;
}

/** Lists the points of which the user was not reminded, by their expiry. */
export function dueReminders(
  compiled: CompiledConfig,
  state: Pick<UserState, "activeAt" | "reminded">,
  { metricId, lots, timeZone }: MetricPoints,
): readonly Expiring[] {
  const inactive = inactiveEnd(compiled, state, { metricId, timeZone }) ?? Number.POSITIVE_INFINITY;
  const reminded = ownValue(state.reminded, metricId) ?? 0;
  return lots
    .filter(isUsable)
    .map(({ remaining, expiresAt }) => ({
      amount: remaining,
      expiresAt: Math.min(expiresAt ?? inactive, inactive),
    }))
    .filter(({ expiresAt }) => Number.isFinite(expiresAt) && expiresAt > reminded)
    .sort((a, b) => a.expiresAt - b.expiresAt);
}

function inactiveEnd(
  { inactivity }: CompiledConfig,
  { activeAt }: Pick<UserState, "activeAt">,
  { metricId, timeZone }: Omit<MetricPoints, "lots">,
): number | null {
  const inactive = inactivity.get(metricId);
  return inactive === undefined || activeAt === 0 ? null : endOfDuration(activeAt, inactive, timeZone);
}

function isUsable({ activatesAt }: Lot): boolean {
  return activatesAt === 0;
}

export function earlier(at: number, duration: Duration, timeZone: string): number {
  const negative = Object.entries(duration).map(([unit, count]) => [unit, -count]);
  return addDuration(at, Object.fromEntries(negative), timeZone);
}
