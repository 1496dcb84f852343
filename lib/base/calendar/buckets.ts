import { type CalendarUnit, calendarUnits, type PeriodUnit, periodOf } from "./periods.ts";

/** The step of a rolling window. */
export type BucketUnit = "minute" | "hour" | CalendarUnit;

/** A step that can be counted: one of a rolling window, or a week from Sunday. */
export type CountedUnit = BucketUnit | PeriodUnit;

/** Every step of a rolling window. */
export const bucketUnits: readonly BucketUnit[] = ["minute", "hour", ...calendarUnits];

const minuteMs = 60_000;
const hourMs = 3_600_000;

/**
 * Returns the bucket of an instant (Unix ms), one of consecutive integers. Minutes and hours are counted from 1970 without a
 * time zone, so that no hour is repeated or skipped.
 *
 * @throws {RangeError} As `periodOf` does.
 */
export function bucketOf(unit: CountedUnit, timeZone: string, at: number): number {
  if (unit === "minute") return Math.floor(at / minuteMs);
  if (unit === "hour") return Math.floor(at / hourMs);
  return periodOf(unit, timeZone, at).index;
}
