/**
 * The instants at which points expire, and at which users are reminded of that.
 *
 * @module
 */

import { addDuration, type Duration, endOfPeriod } from "../../../base/calendar/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Expiry } from "../config/fields.ts";
import { countedUnit, ownValue } from "../config/scope.ts";
import type { Lot } from "../ledger/mod.ts";
import { timeZoneOf, type UserState } from "../user/state.ts";

/** Points that expire at a time (Unix ms). */
export interface Expiring {
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

/** Returns the time a duration before another one. */
export function earlier(at: number, duration: Duration, timeZone: string): number {
  const negative = Object.entries(duration).map(([unit, count]) => [unit, -count]);
  return addDuration(at, Object.fromEntries(negative), timeZone);
}
