/**
 * Days, weeks, months and years in a time zone, as seasons, windows, recurrences and expiries count them.
 *
 * @module
 */

export { type BucketUnit, bucketOf, bucketUnits, type CountedUnit } from "./buckets.ts";
export { addDuration, type Duration } from "./durations.ts";
export {
  instantExpectation,
  isoTime,
  isoTimeOrNull,
  parseInstant,
  parseIsoDateOrTime,
  parseIsoTime,
} from "./iso_time.ts";
export {
  type CalendarUnit,
  cachedPeriodsMax,
  cachedZonesMax,
  calendarUnits,
  endOfPeriod,
  type Period,
  type PeriodUnit,
  periodById,
  periodOf,
} from "./periods.ts";
export { isTimeZone, timeZoneCharactersMax } from "./time_zones.ts";
export { dayMinutes, minuteOfWeek, weekMinutes } from "./week_minutes.ts";
