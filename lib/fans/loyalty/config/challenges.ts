/**
 * Challenges and their missions in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Immutable } from "../../../http/mod.ts";
import { conditionField, numberField } from "./expression_fields.ts";
import {
  ActionNameSchema,
  calendarUnitField,
  choiceOf,
  dataVariableField,
  durationField,
  hasMember,
  idField,
  instantField,
  integerBetween,
  listOf,
  metricValue,
  nonEmptyListOf,
  notificationField,
  optionalText,
  partItemsMax,
  textField,
  uuidField,
} from "./fields.ts";
import { RewardSchema } from "./rewards.ts";

const missionCountMax = 1_000_000;
/** The run of a user keeps each value. */
const distinctCountMax = 1_000;

const when = v.exactOptional(conditionField);

const actionRule = v.strictObject({
  action: ActionNameSchema,
  when,
  /** The mission is complete once the amounts of the actions add up to this. */
  count: v.optional(integerBetween(1, missionCountMax), 1),
  amount: v.exactOptional(numberField),
});
const distinctRule = v.strictObject({
  action: ActionNameSchema,
  when,
  /** The mission is complete once the actions had this many different values. */
  count: v.optional(integerBetween(1, distinctCountMax), 1),
  distinct: dataVariableField,
});
const metricRule = v.strictObject({ metric: idField, atLeast: metricValue });

const mission = v.strictObject({
  id: uuidField,
  title: textField,
  type: v.optional(textField, "action"),
  notification: notificationField,
  rule: choiceOf("MissionRule", [actionRule, distinctRule, metricRule], input =>
    hasMember(input, "metric") ? metricRule : hasMember(input, "distinct") ? distinctRule : actionRule,
  ),
});

/** A step of a challenge. */
export type Mission = Immutable<v.InferOutput<typeof mission>>;

export const ChallengeSchema = v.pipe(
  v.strictObject({
    id: uuidField,
    title: textField,
    subtitle: optionalText,
    media: optionalText,
    notification: notificationField,
    failureNotification: notificationField,
    showInProfile: v.optional(v.boolean(), true),
    showInRail: v.optional(v.boolean(), false),
    /** `from` and `to` in Unix seconds. `to` is exclusive, and 0 means without end. */
    time: v.optional(
      v.strictObject({ showInUI: v.optional(v.boolean(), false), from: instantField, to: instantField }),
      { showInUI: false, from: 0, to: 0 },
    ),
    /** `members`: shown to signed-in callers only. */
    visibility: v.optional(v.picklist(["public", "members"]), "public"),
    /** `auto`: the first action that counts starts it; `rule`: only the effect of a rule does. */
    start: v.optional(v.picklist(["auto", "rule"]), "auto"),
    /** The challenge fails this long after its start. */
    within: v.exactOptional(durationField),
    /** An action that fails the challenge. */
    fail: v.exactOptional(v.strictObject({ action: ActionNameSchema, when })),
    /** `onExpiration` starts anew once `period` or `within` is over. */
    recurrence: v.optional(v.picklist(["none", "onCompletion", "onExpiration"]), "none"),
    period: v.exactOptional(calendarUnitField),
    /** Challenges to complete before this one can start. */
    requires: listOf("RequiredChallenges", uuidField, partItemsMax),
    missions: nonEmptyListOf("ChallengeMissions", mission),
    rewards: listOf("ChallengeRewards", RewardSchema, partItemsMax),
  }),
  v.check(({ time: { from, to } }) => to === 0 || from < to, "Expected time.from before time.to"),
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

/** Missions that earn rewards once all are completed in time. */
export type Challenge = Immutable<v.InferOutput<typeof ChallengeSchema>>;
