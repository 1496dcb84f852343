/**
 * Fields that many parts of a loyalty configuration have.
 *
 * @module
 */

import * as v from "valibot";
import {
  type BucketUnit,
  bucketUnits,
  type CalendarUnit,
  calendarUnits,
  type Duration,
} from "../../calendar/mod.ts";
import {
  configIdCharactersMax,
  configListMax,
  configPartsMax,
  durationUnitsMax,
  quantityMax,
  windowStepsMax,
} from "./bounds.ts";

/** How something is announced. With `display` "none" it is not. */
export interface NotificationSetting {
  readonly display: string;
  readonly title: string;
  readonly message: string;
}

/** The time that counts and limits look back on: the last steps of a unit, this one included, or a unit of the calendar. */
export type Window = RollingWindow | CalendarWindow;
/** `last: 7, unit: "day"` is today and the six days before it. */
export interface RollingWindow {
  readonly last: number;
  readonly unit: BucketUnit;
}
/** The current day, week, month or year. */
export interface CalendarWindow {
  readonly calendar: CalendarUnit;
}

type Schema<T> = v.GenericSchema<unknown, T>;

/** Names that objects answer to by themselves; as ids they would read what nobody stored. */
const reservedIds: readonly string[] = ["__proto__", "constructor", "prototype"];

/** An id within a configuration. */
export const idField: Schema<string> = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9._-]+$/, "Expected letters, digits, dots, underscores and hyphens"),
  v.maxLength(configIdCharactersMax),
  v.check(value => !reservedIds.includes(value), "Expected an id that is not reserved"),
);
/** An id of a challenge or mission. */
export const uuidField: Schema<string> = v.pipe(v.string(), v.uuid());
/** A text for people. */
export const textField: Schema<string> = v.pipe(v.string(), v.maxLength(1_000));
/** Text that may be left out. */
export const optionalText: Schema<string> = v.optional(textField, "");
/** A whole number. */
export const integerField: Schema<number> = v.pipe(v.number(), v.safeInteger());
/** A value that a metric may have. */
export const metricValue: Schema<number> = v.pipe(
  v.number(),
  v.minValue(-quantityMax * 1_000),
  v.maxValue(quantityMax * 1_000),
);
/** What a reward adds to a metric. */
export const quantityField: Schema<number> = v.pipe(
  v.number(),
  v.safeInteger(),
  v.minValue(-quantityMax),
  v.maxValue(quantityMax),
);
/** The name of an action: 1 to 64 characters. */
export const ActionNameSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(64),
);
/** A unit of the calendar. */
export const calendarUnitField: Schema<CalendarUnit> = v.picklist(calendarUnits);

/** A whole number between bounds. */
export function integerBetween(least: number, most: number): Schema<number> {
  return v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most));
}

/** A list that may be left out. */
export function listOf<T>(item: Schema<T>, max: number = configListMax): Schema<T[]> {
  return v.optional(atMost(max, v.pipe(v.array(item), v.maxLength(max))), []);
}

/** A list of at least one part. */
export function nonEmptyListOf<T>(item: Schema<T>): Schema<T[]> {
  const parts = v.pipe(v.array(item), v.minLength(1), v.maxLength(configPartsMax));
  return atMost(configPartsMax, parts);
}

/** Looks at no item of a list that is too long, because each of very many might have faults to tell. */
function atMost<T>(max: number, list: Schema<T[]>): Schema<T[]> {
  const lengthOnly = v.pipe(v.custom<never[]>(Array.isArray), v.maxLength(max));
  return v.lazy(input => (Array.isArray(input) && input.length > max ? lengthOnly : list));
}

const unannounced: NotificationSetting = { display: "none", title: "", message: "" };

/** How something is announced; left out, it is not. */
export const notificationField: Schema<NotificationSetting> = v.optional(
  v.strictObject({ display: v.optional(textField, "none"), title: optionalText, message: optionalText }),
  unannounced,
);

const units = v.exactOptional(integerBetween(0, durationUnitsMax));

/** How long something lasts, of at least one unit. */
export const durationField: Schema<Duration> = v.pipe(
  v.strictObject({ minutes: units, hours: units, days: units, weeks: units, months: units, years: units }),
  v.check(
    duration => Object.values(duration).some(count => count > 0),
    "Expected a duration longer than none",
  ),
);

/**
 * One of several schemas, picked by the input, so that errors are about the one that was meant. Without an input it is all of
 * them together, for whoever describes the schema.
 */
export function choiceOf<T>(options: readonly Schema<T>[], pick: (input: unknown) => Schema<T>): Schema<T> {
  const all = v.union(options);
  return v.lazy((input): Schema<T> => (input === undefined ? all : pick(input)));
}

/** Whether an input is an object that has this member. */
export function hasMember(input: unknown, name: string): boolean {
  return typeof input === "object" && input !== null && name in input;
}

const calendarWindow = v.strictObject({ calendar: calendarUnitField });

/** A window of the calendar. */
export const calendarWindowField: Schema<CalendarWindow> = calendarWindow;

const rollingWindow = v.strictObject({
  last: integerBetween(1, windowStepsMax),
  unit: v.picklist(bucketUnits),
});

/** A rolling window or one of the calendar. */
export const windowField: Schema<Window> = choiceOf<Window>([rollingWindow, calendarWindow], input =>
  hasMember(input, "calendar") ? calendarWindow : rollingWindow,
);
