/** The times at which a rule applies: from and until an instant, and at hours of the week. */

import * as v from "valibot";
import { dayMinutes, isTimeZone, minuteOfWeek, weekMinutes } from "../../../base/calendar/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import {
  ActionNameSchema,
  calculationField,
  calendarWindowField,
  capFields,
  choiceOf,
  conditionField,
  customFieldOf,
  dataVariableField,
  idField,
  instantField,
  integerBetween,
  integerField,
  listOf,
  nonEmptyListOf,
  notificationField,
  partItemsMax,
  quantityField,
  uuidField,
  windowField,
} from "./fields.ts";

const weekDays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

function clockTime(pattern: RegExp, expectation: string) {
  return v.pipe(v.string(), v.regex(pattern, expectation));
}

const hours = v.pipe(
  v.strictObject({
    days: v.pipe(v.array(v.picklist(weekDays)), v.minLength(1), v.maxLength(weekDays.length)),
    from: v.optional(clockTime(/^([01]\d|2[0-3]):[0-5]\d$/, "Expected a time from 00:00 to 23:59"), "00:00"),
    /** Exclusive. A time before `from` is one of the next day. */
    to: v.optional(
      clockTime(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "Expected a time from 00:00 to 24:00"),
      "24:00",
    ),
  }),
  v.check(({ from, to }) => from !== to, "Expected from and to to differ"),
);

export const ruleTimeFields = {
  /** `from` and `to` in Unix seconds. `to` is exclusive, and 0 means without end. */
  time: v.exactOptional(
    v.pipe(
      v.strictObject({ from: instantField, to: instantField }),
      v.check(({ from, to }) => to === 0 || from < to, "Expected from before to"),
    ),
  ),
  /** The hours of each week; the rule applies in any of them. */
  schedule: v.exactOptional(
    v.strictObject({
      /** @default the time zone of the document */
      timeZone: v.exactOptional(v.pipe(v.string(), v.check(isTimeZone, "Expected an IANA time zone"))),
      weekly: nonEmptyListOf("RuleSchedule", hours),
    }),
  ),
};

const ruleTimes = v.object(ruleTimeFields);
type RuleTimes = Immutable<v.InferOutput<typeof ruleTimes>>;

/** A time that a rule needs, for dry runs: the member that is not met, and what it expects. */
export interface TimeFault {
  readonly member: "time" | "schedule";
  readonly expected: string;
}

/** Compiles the times of a rule to a function that explains why it does not apply at a time (Unix ms); null where it always does. */
export function compileTimes(
  { time, schedule }: RuleTimes,
  timeZone: string,
): ((at: number) => TimeFault | null) | null {
  if (time === undefined && schedule === undefined) return null;
  const from = (time?.from ?? 0) * 1_000;
  const to = time === undefined || time.to === 0 ? Number.POSITIVE_INFINITY : time.to * 1_000;
  const isScheduled = schedule === undefined ? null : compileSchedule(schedule, timeZone);
  return at => {
    if (at < from || at >= to) return { member: "time", expected: "a time from `from` to before `to`" };
    if (isScheduled?.(at) === false) return { member: "schedule", expected: "a time of the weekly schedule" };
    return null;
  };
}

function compileSchedule(
  { weekly, timeZone: own }: NonNullable<RuleTimes["schedule"]>,
  timeZone: string,
): (at: number) => boolean {
  const zone = own ?? timeZone;
  const spans = weekly.flatMap(({ days, from, to }) => {
    const length = (minutesOf(to) - minutesOf(from) + dayMinutes) % dayMinutes || dayMinutes;
    return days.map(day => ({ start: weekDays.indexOf(day) * dayMinutes + minutesOf(from), length }));
  });
  return at => {
    const minute = minuteOfWeek(at, zone);
    return spans.some(({ start, length }) => (minute - start + weekMinutes) % weekMinutes < length);
  };
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}

const factorMax = 100;

export const MultiplierSchema = v.strictObject({
  id: idField,
  factor: v.pipe(v.number(), v.minValue(1), v.maxValue(factorMax)),
  /** Multiplies what rules with this tag give. @default all rules */
  tag: v.exactOptional(idField),
  ...ruleTimeFields,
});

type Multiplier = Immutable<v.InferOutput<typeof MultiplierSchema>>;

/** Compiles the multipliers of a rule to their factor at a time (Unix ms); null where the rule has none. */
export function compileFactor(
  multipliers: readonly Multiplier[],
  tags: readonly string[],
  timeZone: string,
): ((at: number) => number) | null {
  const own = multipliers
    .filter(({ tag }) => tag === undefined || tags.includes(tag))
    .map(multiplier => ({ factor: multiplier.factor, timeFault: compileTimes(multiplier, timeZone) }));
  if (own.length === 0) return null;
  return at =>
    Math.max(1, ...own.map(({ factor, timeFault }) => ((timeFault?.(at) ?? null) === null ? factor : 1)));
}

const declaredPropertiesMax = 64;
const ruleLimitMax = 1_000_000_000;

export type ActionData = Readonly<Record<string, string | number | boolean>>;

const properties = v.pipe(
  v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(64)), v.picklist(["string", "number", "boolean"])),
  v.maxEntries(declaredPropertiesMax),
);

export const ActionSchema = v.strictObject({
  name: ActionNameSchema,
  /** Lets the device of a user report the action. */
  clientReportable: v.optional(v.boolean(), false),
  /** The types of the properties that `data` may have. @default any properties */
  data: v.exactOptional(properties),
});

export type ActionDefinition = Immutable<v.InferOutput<typeof ActionSchema>>;

const triggers = {
  action: v.strictObject({ action: ActionNameSchema }),
  metric: v.strictObject({ metric: idField }),
  challengeCompleted: v.strictObject({ challengeCompleted: uuidField }),
  milestoneReached: v.strictObject({ milestoneReached: idField }),
  inventoryReceived: v.strictObject({ inventoryReceived: idField }),
};
/** The event that makes the engine evaluate a rule: the only member. */
const triggerField = choiceOf("RuleTrigger", Object.values(triggers), input => {
  const [kind = ""] = typeof input === "object" && input !== null ? Object.keys(input) : [];
  return Object.hasOwn(triggers, kind) ? triggers[kind as keyof typeof triggers] : triggers.action;
});

/** A constant amount, or an expression that the compiler checks. An expression's value is rounded toward zero. */
const amount = choiceOf("RuleAmount", [quantityField, calculationField], input =>
  typeof input === "object" && input !== null ? calculationField : quantityField,
);
const item = { inventorySetId: idField, inventoryItemId: idField };
/** Gives it to the user whom the action's data, or a custom field of the own profile, name. */
const recipient = {
  user: v.exactOptional(
    v.strictObject({
      var: v.pipe(
        v.string(),
        v.check(
          path => path.startsWith("data.") || customFieldOf(path) !== null,
          "Expected the path of a property of the action or of a custom field, such as data.referrerId",
        ),
      ),
    }),
  ),
};
const challengeId = uuidField;

const effectField = v.variant("type", [
  v.strictObject({ type: v.literal("metric"), metricId: idField, metricQuantity: amount, ...recipient }),
  v.strictObject({ type: v.literal("inventory"), ...item, ...recipient }),
  v.strictObject({ type: v.literal("coupon"), couponId: idField, ...recipient }),
  v.strictObject({ type: v.literal("reward"), rewardId: idField, ...recipient }),
  v.strictObject({ type: v.literal("inventoryLoss"), ...item }),
  v.strictObject({ type: v.literal("notification"), notification: notificationField }),
  v.strictObject({ type: v.literal("challengeStart"), challengeId }),
  v.strictObject({ type: v.literal("missionCompletion"), challengeId, missionId: uuidField }),
  v.strictObject({ type: v.literal("challengeCompletion"), challengeId }),
  v.strictObject({ type: v.literal("challengeFailure"), challengeId }),
]);

export type RuleEffect = Immutable<v.InferOutput<typeof effectField>>;

const max = integerBetween(1, ruleLimitMax);

/** A limit of the firings of a rule, for one user or for all users of the space together. */
const limitField = v.variant("per", [
  v.strictObject({
    per: v.literal("user"),
    /** Counts each value of the action's data for itself. */
    by: v.exactOptional(dataVariableField),
    max,
    window: v.exactOptional(windowField),
  }),
  v.strictObject({ per: v.literal("global"), max, window: v.exactOptional(calendarWindowField) }),
]);

const capField = v.strictObject({ metricId: idField, ...capFields });

export const RuleSchema = v.strictObject({
  id: idField,
  trigger: triggerField,
  when: v.exactOptional(conditionField),
  effects: nonEmptyListOf("RuleEffects", effectField),
  /** Lower first; rules of equal priority apply in the order of their ids. */
  priority: v.optional(integerField, 0),
  limits: listOf("RuleLimits", limitField, partItemsMax),
  /** The most of a metric that the rule gives a user. The last amount is given in part. */
  caps: listOf("RuleCaps", capField, partItemsMax),
  /** Of the rules of a group only the first that holds fires. */
  group: v.exactOptional(idField),
  /** Names by which multipliers find the rule. */
  tags: listOf("RuleTags", idField, partItemsMax),
  enabled: v.optional(v.boolean(), true),
  ...ruleTimeFields,
});

export type LoyaltyRule = Immutable<v.InferOutput<typeof RuleSchema>>;
