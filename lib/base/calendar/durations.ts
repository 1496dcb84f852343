/** Durations, of which days and more follow the calendar. */

import { dateOf, dateOfWall, dayMs, instantOfWall, wallClock } from "./wall_clock.ts";

/** A duration. It has at least one member; all are added, the largest first. */
export type Duration = {
  readonly minutes?: number;
  readonly hours?: number;
  readonly days?: number;
  readonly weeks?: number;
  readonly months?: number;
  readonly years?: number;
};

const minuteMs = 60_000;
const hourMs = 3_600_000;

/**
 * Returns the instant (Unix ms) a duration after `at`. Minutes and hours are elapsed ones. Days, weeks, months and years keep the
 * zone's wall clock time: a day without that time moves it by the length of the gap, a repeated one takes the
 * first, and a month that lacks the day ends with its last one.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
export function addDuration(at: number, duration: Duration, timeZone: string): number {
  const { minutes = 0, hours = 0, days = 0, weeks = 0, months = 0, years = 0 } = duration;
  const elapsedMs = minutes * minuteMs + hours * hourMs;
  if (days === 0 && weeks === 0 && months === 0 && years === 0) return at + elapsedMs;
  const wholeMs = Math.floor(at);
  const wall = wallClock(wholeMs, timeZone);
  const date = dateOfWall(wall);
  const target = addMonths(date, years * 12 + months) + (weeks * 7 + days) * dayMs;
  return instantOfWall(target + wall - date, timeZone) + elapsedMs + (at - wholeMs);
}

/** Moves a date by months; one that the month lacks becomes its last day. */
function addMonths(date: number, months: number): number {
  if (months === 0) return date;
  const start = new Date(date);
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth() + 1 + months];
  return Math.min(dateOf(year, month, start.getUTCDate()), dateOf(year, month + 1, 0));
}
