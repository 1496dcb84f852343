/** Fields that many parts of a loyalty configuration share. */

import * as v from "valibot";
import {
  bucketUnits,
  type CalendarUnit,
  calendarUnits,
  type Duration,
  instantExpectation,
  parseInstant,
} from "../../../base/calendar/mod.ts";
import { expressionShapes } from "../../../base/expressions/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import { named } from "../../../http/requests/validate.ts";

type Schema<T> = v.GenericSchema<unknown, T>;

export const idCharactersMax = 64;
/** Largest amount that a single effect or reward may give or take. */
export const quantityMax = 1_000_000_000;
/** Most parts of one kind in a configuration, such as metrics or rules. */
const listItemsMax = 500;
/** Most missions, rewards, effects, milestones or limits of one part. */
export const partItemsMax = 50;
const windowStepsMax = 1_440;
const durationUnitsMax = 100_000;

/** Names that every object inherits. As ids they would read values that nobody stored. */
const reservedIds: readonly string[] = ["__proto__", "constructor", "prototype"];

export const idField: Schema<string> = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9._-]+$/, "Expected letters, digits, dots, underscores and hyphens"),
  v.maxLength(idCharactersMax),
  v.check(value => !reservedIds.includes(value), "Expected an id that is not reserved"),
);
export const uuidField: Schema<string> = v.pipe(v.string(), v.uuid());
export const textField: Schema<string> = v.pipe(v.string(), v.maxLength(1_000));
/** A text that is empty by default. */
export const optionalText: Schema<string> = v.optional(textField, "");
export const integerField: Schema<number> = v.pipe(v.number(), v.safeInteger());
export const metricValue: Schema<number> = v.pipe(
  v.number(),
  v.minValue(-quantityMax * 1_000),
  v.maxValue(quantityMax * 1_000),
);
/** The amount that a reward adds to a metric. */
export const quantityField: Schema<number> = integerBetween(-quantityMax, quantityMax);
export const ActionNameSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(64),
);
export const calendarUnitField: Schema<CalendarUnit> = v.picklist(calendarUnits);

export function integerBetween(least: number, most: number): Schema<number> {
  return v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most));
}

/** An instant as Unix seconds or as a time with its zone, in Unix seconds; 0 by default, where it means no bound. */
export const instantField: Schema<number> = v.optional(
  v.pipe(
    v.union([v.number(), v.string()], instantExpectation),
    v.transform(secondsOf),
    v.number(instantExpectation),
  ),
  0,
);

/** Returns the whole Unix seconds of an instant; null where it has none. */
function secondsOf(instant: number | string): number | null {
  const at = parseInstant(instant);
  return at !== null && at >= 0 && at % 1_000 === 0 ? at / 1_000 : null;
}

/** Returns the schema of a list that is empty by default, with its name in the OpenAPI document. */
export function listOf<T>(name: string, item: Schema<T>, max: number = listItemsMax): Schema<T[]> {
  return v.optional(atMost(max, named(name, v.pipe(v.array(item), v.maxLength(max)))), []);
}

/** Returns the schema of a list with at least one item, with its name in the OpenAPI document. */
export function nonEmptyListOf<T>(name: string, item: Schema<T>): Schema<T[]> {
  return atMost(partItemsMax, named(name, v.pipe(v.array(item), v.minLength(1), v.maxLength(partItemsMax))));
}

/** Checks no item of a list that is too long, since each of very many could have errors. */
function atMost<T>(max: number, list: Schema<T[]>): Schema<T[]> {
  const lengthOnly = v.pipe(v.custom<never[]>(Array.isArray), v.maxLength(max));
  return v.lazy(input => (Array.isArray(input) && input.length > max ? lengthOnly : list));
}

/**
 * Returns a schema that picks one of several by the input, so that errors concern the intended one. Without an input, as when
 * a JSON Schema is made of it, it is their union, which has the name in the OpenAPI document.
 */
export function choiceOf<const T extends readonly v.GenericSchema[]>(
  name: string,
  options: T,
  pick: (input: unknown) => T[number] | Schema<never>,
): Schema<v.InferOutput<T[number]>> {
  const all = named(name, v.union(options));
  return v.lazy((input): Schema<v.InferOutput<T[number]>> => (input === undefined ? all : pick(input)));
}

export function hasMember(input: unknown, name: string): boolean {
  return typeof input === "object" && input !== null && name in input;
}

const notification = v.strictObject({
  display: v.optional(textField, "none"),
  title: optionalText,
  message: optionalText,
});

/** The announcement of an event. With `display` "none" there is no announcement. */
export type NotificationSetting = Immutable<v.InferOutput<typeof notification>>;

/** An announcement, which is off by default. */
export const notificationField: Schema<NotificationSetting> = v.optional(notification, {
  display: "none",
  title: "",
  message: "",
});

const units = v.exactOptional(integerBetween(0, durationUnitsMax));

/** A duration of at least one unit. */
export const durationField: Schema<Duration> = v.pipe(
  v.strictObject({ minutes: units, hours: units, days: units, weeks: units, months: units, years: units }),
  v.check(
    duration => Object.values(duration).some(count => count > 0),
    "Expected a duration longer than none",
  ),
);

const expiresAfter = v.strictObject({ after: durationField });
const expiresAtEnd = v.strictObject({ endOf: calendarUnitField });

/** The end of something: after a duration, or with a period of the calendar. */
export const expiryField: Schema<v.InferOutput<typeof expiresAfter | typeof expiresAtEnd>> = choiceOf(
  "PointsExpiry",
  [expiresAfter, expiresAtEnd],
  input => (hasMember(input, "endOf") ? expiresAtEnd : expiresAfter),
);

const expiresInactive = v.strictObject({ inactive: durationField });

/** The end of points: a duration, the end of a period, or a time without any activity of the user. */
export const pointsExpiryField: Schema<
  v.InferOutput<typeof expiresAfter | typeof expiresAtEnd | typeof expiresInactive>
> = choiceOf("LotExpiry", [expiresAfter, expiresAtEnd, expiresInactive], input => {
  if (hasMember(input, "inactive")) return expiresInactive;
  return hasMember(input, "endOf") ? expiresAtEnd : expiresAfter;
});

export type Expiry = Immutable<v.InferOutput<typeof expiryField>>;

const windowExpectation = `Expected {"calendar": "day"}, "week", "month" or "year", or {"last": 7, "unit": "day"} with 1 to ${windowStepsMax} of a unit`;
const calendarWindow = v.strictObject({ calendar: calendarUnitField });
const rollingWindow = v.strictObject({
  last: integerBetween(1, windowStepsMax),
  unit: v.picklist(bucketUnits),
});

/** The current day, week, month or year. */
export const calendarWindowField: Schema<v.InferOutput<typeof calendarWindow>> = calendarWindow;

const noWindow: Schema<never> = v.never(windowExpectation);

/** A calendar window, or the last steps of a unit including the current one. */
export const windowField: Schema<v.InferOutput<typeof calendarWindow | typeof rollingWindow>> = choiceOf(
  "CountWindow",
  [rollingWindow, calendarWindow],
  input => {
    if (hasMember(input, "calendar")) return calendarWindow;
    return hasMember(input, "last") || hasMember(input, "unit") ? rollingWindow : noWindow;
  },
);

export type CountWindow = Immutable<v.InferOutput<typeof windowField>>;

/** Bound of an amount within a window, or for ever where there is none. */
export const capFields = {
  max: integerBetween(1, quantityMax * 1_000),
  window: v.exactOptional(windowField),
};

/** A variable of the data of an action, such as `{"var": "data.matchId"}`. */
export const dataVariableField = v.strictObject({
  var: v.pipe(
    v.string(),
    v.startsWith("data.", "Expected the path of a property of the action, such as data.matchId"),
  ),
});

/** Returns the custom field of the profile that the path of a variable names; null: none. */
export function customFieldOf(path: string): string | null {
  return /^user\.custom\.([A-Za-z][A-Za-z0-9_.-]{0,63})$/.exec(path)?.[1] ?? null;
}

const shapes = expressionShapes(({ condition, calculation }) =>
  aggregatesWith(condition, v.union([v.number(), calculation])),
);
const conditionShape = named("LoyaltyCondition", shapes.condition.getter(undefined));
const calculationShape = named("LoyaltyCalculation", shapes.calculation.getter(undefined));
const numberShape = named("LoyaltyNumber", v.union([v.number(), shapes.calculation]));

export const conditionField: v.GenericSchema = describedBy(conditionShape);

export const calculationField: v.GenericSchema = describedBy(calculationShape);

export const numberField: v.GenericSchema = describedBy(numberShape);

/** Schemas of counts, sums, streaks and distinct values over the actions of a user. The expressions in them are left to the compiler. */
export const aggregateSchemas = aggregatesWith(conditionField, numberField);

/** Returns a schema that accepts everything and is described as another: converters to JSON Schema pass no input. */
function describedBy(shape: v.GenericSchema): v.GenericSchema {
  return v.lazy(input => (input === undefined ? shape : v.unknown()));
}

function aggregatesWith(condition: v.GenericSchema, number: v.GenericSchema) {
  const where = v.exactOptional(condition);
  const window = v.exactOptional(windowField);
  return {
    count: v.strictObject({ action: ActionNameSchema, where, window }),
    sum: v.strictObject({ action: ActionNameSchema, of: number, where, window }),
    streak: v.strictObject({
      action: ActionNameSchema,
      where,
      unit: v.picklist(["day", "week", "month"]),
    }),
    distinct: v.strictObject({ action: ActionNameSchema, of: dataVariableField, where, window }),
  };
}
