import { dayMs, wallClock } from "./wall_clock.ts";

/** Number of minutes of a day. */
export const dayMinutes = 1_440;
export const weekMinutes: number = 7 * dayMinutes;

/** 1970 began on a Thursday, three days after the Monday with which weeks begin. */
const mondayOffsetMs = 3 * dayMs;

/**
 * Returns the minute of an instant (Unix ms) within its week, counted from Monday 00:00 by the clocks of the time zone. Minutes that
 * clocks repeat are counted alike, and minutes that they skip never occur.
 *
 * @throws {RangeError} As `periodOf` does.
 */
export function minuteOfWeek(at: number, timeZone: string): number {
  const minutes = Math.floor((wallClock(at, timeZone) + mondayOffsetMs) / 60_000);
  return ((minutes % weekMinutes) + weekMinutes) % weekMinutes;
}
