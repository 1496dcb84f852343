/** The steps in which rolling windows move. */

import { type CalendarUnit, calendarUnits, periodOf } from "./periods.ts";

/** The unit of a rolling window's steps. */
export type BucketUnit = "minute" | "hour" | CalendarUnit;

/** Every unit of a rolling window's steps. */
export const bucketUnits: readonly BucketUnit[] = ["minute", "hour", ...calendarUnits];

const minuteMs = 60_000;
const hourMs = 3_600_000;

/**
 * Returns the bucket that holds an instant (Unix ms), as one of consecutive integers. Minutes and hours are elapsed ones, counted
 * from 1970 without a zone, so that no hour is ever repeated or left out.
 *
 * @throws {RangeError} As `periodOf` does.
 */
export function bucketOf(unit: BucketUnit, timeZone: string, at: number): number {
  if (unit === "minute") return Math.floor(at / minuteMs);
  if (unit === "hour") return Math.floor(at / hourMs);
  return periodOf(unit, timeZone, at).index;
}
