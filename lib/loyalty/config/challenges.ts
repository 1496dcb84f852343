/**
 * Challenges and their missions in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { CalendarUnit, Duration } from "../../calendar/mod.ts";
import { configPartsMax, missionCountMax } from "./bounds.ts";
import { conditionField, numberField } from "./expressions.ts";
import {
  ActionNameSchema,
  calendarUnitField,
  choiceOf,
  durationField,
  hasMember,
  idField,
  integerBetween,
  listOf,
  metricValue,
  type NotificationSetting,
  nonEmptyListOf,
  notificationField,
  optionalText,
  textField,
  uuidField,
} from "./fields.ts";
import { type Reward, RewardSchema } from "./rewards.ts";

/** What completes a mission. */
export type MissionRule = ActionMissionRule | MetricMissionRule;
/** An action under a condition, until the amounts that it adds come to `count`. */
export interface ActionMissionRule {
  readonly action: string;
  readonly when?: unknown;
  readonly count: number;
  /** An expression; what an action adds. Omitted: 1. */
  readonly amount?: unknown;
}
/** A metric that has at least this value. */
export interface MetricMissionRule {
  readonly metric: string;
  readonly atLeast: number;
}

/** A step of a challenge. */
export interface Mission {
  readonly id: string;
  readonly title: string;
  readonly type: string;
  readonly notification: NotificationSetting;
  readonly rule: MissionRule;
}

/** Missions that, once all are completed in time, earn rewards. */
export interface Challenge {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly media: string;
  /** Announces that it is completed. */
  readonly notification: NotificationSetting;
  /** Announces that it has failed, by time or by a rule. */
  readonly failureNotification: NotificationSetting;
  readonly showInProfile: boolean;
  readonly showInRail: boolean;
  /** `from` and `to` in Unix seconds; `to` is exclusive, and 0 means without end. */
  readonly time: { readonly showInUI: boolean; readonly from: number; readonly to: number };
  /** `members`: shown only to callers that are signed in. */
  readonly visibility: "public" | "members";
  /** `auto`: starts with the first action that counts for it; `rule`: by the effect of a rule alone. */
  readonly start: "auto" | "rule";
  /** It fails this long after its start. */
  readonly within?: Duration;
  /** An action that makes it fail. */
  readonly fail?: { readonly action: string; readonly when?: unknown };
  /** Whether it may be taken again: never, once completed, or once its `period` (or `within`) is over. */
  readonly recurrence: "none" | "onCompletion" | "onExpiration";
  readonly period?: CalendarUnit;
  /** Challenges that must have been completed before this one starts. */
  readonly requires: readonly string[];
  readonly missions: readonly Mission[];
  readonly rewards: readonly Reward[];
}

const when = v.exactOptional(conditionField);

const actionRule = v.strictObject({
  action: ActionNameSchema,
  when,
  count: v.optional(integerBetween(1, missionCountMax), 1),
  amount: v.exactOptional(numberField),
});
const metricRule = v.strictObject({ metric: idField, atLeast: metricValue });
const missionRule = choiceOf<MissionRule>([actionRule, metricRule], input =>
  hasMember(input, "metric") ? metricRule : actionRule,
);

const MissionSchema: v.GenericSchema<unknown, Mission> = v.strictObject({
  id: uuidField,
  title: textField,
  type: v.optional(textField, "action"),
  notification: notificationField,
  rule: missionRule,
});

const always: Challenge["time"] = { showInUI: false, from: 0, to: 0 };
const unixSeconds = v.optional(integerBetween(0, Number.MAX_SAFE_INTEGER / 1_000), 0);

/** A challenge. */
export const ChallengeSchema: v.GenericSchema<unknown, Challenge> = v.pipe(
  v.strictObject({
    id: uuidField,
    title: textField,
    subtitle: optionalText,
    media: optionalText,
    notification: notificationField,
    failureNotification: notificationField,
    showInProfile: v.optional(v.boolean(), true),
    showInRail: v.optional(v.boolean(), false),
    time: v.optional(
      v.strictObject({ showInUI: v.optional(v.boolean(), false), from: unixSeconds, to: unixSeconds }),
      always,
    ),
    visibility: v.optional(v.picklist(["public", "members"]), "public"),
    start: v.optional(v.picklist(["auto", "rule"]), "auto"),
    within: v.exactOptional(durationField),
    fail: v.exactOptional(v.strictObject({ action: ActionNameSchema, when })),
    recurrence: v.optional(v.picklist(["none", "onCompletion", "onExpiration"]), "none"),
    period: v.exactOptional(calendarUnitField),
    requires: listOf(uuidField, configPartsMax),
    missions: nonEmptyListOf(MissionSchema),
    rewards: listOf(RewardSchema, configPartsMax),
  }),
  v.check(
    ({ recurrence, period }) => period === undefined || recurrence === "onExpiration",
    "Expected a period only where recurrence is onExpiration",
  ),
  v.check(
    ({ recurrence, period, within }) =>
      recurrence !== "onExpiration" || period !== undefined || within !== undefined,
    "Expected a period or within, as recurrence is onExpiration",
  ),
);
