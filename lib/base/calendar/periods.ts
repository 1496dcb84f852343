/**
 * Periods of the calendar.
 *
 * A day lasts from the first midnight of its date to the first midnight of the next. Periods of a unit and zone therefore
 * have no gaps or overlaps, even under daylight saving. A day without a midnight begins with its first minute. Where clocks
 * go back over midnight, the repeated time belongs to the later day. Weeks are ISO 8601 weeks, Monday first; a week from Sunday has
 * the id of the ISO week that begins on the next day.
 *
 * @module
 */

import { dateOf, dateOfWall, dayMs, instantOfWall, startOfDate, wallClock } from "./wall_clock.ts";

export type CalendarUnit = "day" | "week" | "month" | "year";

export const calendarUnits: readonly CalendarUnit[] = ["day", "week", "month", "year"];

export type PeriodUnit = CalendarUnit | "sundayWeek";

/** A day, week, month or year in a time zone. */
export interface Period {
  /** `2026-11-21`, `2026-W47`, `2026-11` or `2026`. */
  readonly id: string;
  /** Consecutive integers along the periods of a unit. */
  readonly index: number;
  /** Unix ms. */
  readonly startsAt: number;
  /** Unix ms, exclusive. */
  readonly endsAt: number;
}

/** Maximum number of time zones with cached periods; at the limit the cache is cleared. */
export const cachedZonesMax = 600;
/** Maximum number of cached periods per unit and zone; the least recently used is evicted first. */
export const cachedPeriodsMax = 8;

/** Days from Monday to Thursday, which 1970-01-01 was. */
const daysToEpochThursday = 3;

const cache: Readonly<Record<PeriodUnit, Map<string, Period[]>>> = {
  day: new Map(),
  week: new Map(),
  sundayWeek: new Map(),
  month: new Map(),
  year: new Map(),
};

/**
 * Returns the period that holds an instant (Unix ms). Costs two comparisons while instants stay within one period.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
export function periodOf(unit: PeriodUnit, timeZone: string, at: number): Period {
  const recent = cache[unit].get(timeZone);
  const last = recent?.[0];
  if (last !== undefined && at >= last.startsAt && at < last.endsAt) return last;
  return cachedPeriod(unit, timeZone, at);
}

/**
 * Returns the instant (Unix ms) at which the period that holds `at` is over.
 *
 * @throws {RangeError} As {@linkcode periodOf} does.
 */
export function endOfPeriod(unit: PeriodUnit, timeZone: string, at: number): number {
  return periodOf(unit, timeZone, at).endsAt;
}

const idShapes: Readonly<Record<CalendarUnit, RegExp>> = {
  day: /^(\d{4})-(\d{2})-(\d{2})$/,
  week: /^(\d{4})-W(\d{2})$/,
  month: /^(\d{4})-(\d{2})$/,
  year: /^(\d{4})$/,
};

/** Returns the period that an id names, or null if there is none, such as `2025-W53` or `2026-02-29`. */
export function periodById(unit: CalendarUnit, timeZone: string, id: string): Period | null {
  const [, year, second = "1", day = "1"] = idShapes[unit].exec(id) ?? [];
  if (year === undefined) return null;
  const month = unit === "week" ? 1 : Number(second);
  if (month < 1 || Number(day) < 1) return null;
  // Week 1 is the week of 4 January. Noon, because a date of the zone's own past may lack its midnight.
  const first = dateOf(Number(year), month, unit === "week" ? 4 : Number(day));
  const weeks = unit === "week" ? Number(second) - 1 : 0;
  const noon = instantOfWall(first + (weeks * 7 + 0.5) * dayMs, timeZone);
  const period = periodOf(unit, timeZone, noon);
  return period.id === id ? period : null;
}

function cachedPeriod(unit: PeriodUnit, timeZone: string, at: number): Period {
  const zones = cache[unit];
  if (zones.size >= cachedZonesMax && !zones.has(timeZone)) zones.clear();
  const recent = zones.get(timeZone) ?? [];
  const index = recent.findIndex(({ startsAt, endsAt }) => at >= startsAt && at < endsAt);
  const [found = computed(unit, timeZone, at)] = index < 0 ? [] : recent.splice(index, 1);
  recent.unshift(found);
  if (recent.length > cachedPeriodsMax) recent.pop();
  zones.set(timeZone, recent);
  return found;
}

function computed(unit: PeriodUnit, timeZone: string, at: number): Period {
  let first = firstDate(unit, dateOfWall(wallClock(Math.floor(at), timeZone)));
  let next = nextDate(unit, first);
  // Clocks that go back over midnight show the day before once more, after the next one has begun.
  if (at >= startOfDate(next, timeZone)) [first, next] = [next, nextDate(unit, next)];
  return {
    ...named(unit, first),
    startsAt: startOfDate(first, timeZone),
    endsAt: startOfDate(next, timeZone),
  };
}

function firstDate(unit: PeriodUnit, date: number): number {
  const parts = new Date(date);
  switch (unit) {
    case "day":
      return date;
    case "week":
      return date - ((parts.getUTCDay() + 6) % 7) * dayMs;
    case "sundayWeek":
      return date - parts.getUTCDay() * dayMs;
    case "month":
      return dateOf(parts.getUTCFullYear(), parts.getUTCMonth() + 1, 1);
    case "year":
      return dateOf(parts.getUTCFullYear(), 1, 1);
  }
}

/** Returns the first date of the period after the one that begins with `first`. */
function nextDate(unit: PeriodUnit, first: number): number {
  const parts = new Date(first);
  switch (unit) {
    case "day":
      return first + dayMs;
    case "week":
    case "sundayWeek":
      return first + 7 * dayMs;
    case "month":
      return dateOf(parts.getUTCFullYear(), parts.getUTCMonth() + 2, 1);
    case "year":
      return dateOf(parts.getUTCFullYear() + 1, 1, 1);
  }
}

function named(unit: PeriodUnit, first: number): Pick<Period, "id" | "index"> {
  const day = first / dayMs;
  const date = new Date(first);
  const [text = ""] = date.toISOString().split("T");
  switch (unit) {
    case "day":
      return { id: text, index: day };
    case "week": {
      // The year of an ISO week is the year of its Thursday.
      const thursday = first + 3 * dayMs;
      const year = new Date(thursday).getUTCFullYear();
      const week = Math.floor((thursday - dateOf(year, 1, 1)) / dayMs / 7) + 1;
      const id = `${year}-W${String(week).padStart(2, "0")}`;
      return { id, index: Math.floor((day + daysToEpochThursday) / 7) };
    }
    case "sundayWeek":
      return named("week", first + dayMs);
    case "month":
      return { id: text.slice(0, -3), index: date.getUTCFullYear() * 12 + date.getUTCMonth() };
    case "year":
      return { id: text.slice(0, -6), index: date.getUTCFullYear() };
  }
}
