/**
 * Actions and rules in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Immutable } from "../../../http/mod.ts";
import { calculationField, conditionField } from "./expression_fields.ts";
import {
  ActionNameSchema,
  calendarWindowField,
  capFields,
  choiceOf,
  customFieldOf,
  dataVariableField,
  idField,
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
import { ruleTimeFields } from "./rule_times.ts";

const declaredPropertiesMax = 64;
const ruleLimitMax = 1_000_000_000;

/** The properties of a reported action. */
export type ActionData = Readonly<Record<string, string | number | boolean>>;

const properties = v.pipe(
  v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(64)), v.picklist(["string", "number", "boolean"])),
  v.maxEntries(declaredPropertiesMax),
);

/** Schema of an action definition. */
export const ActionSchema = v.strictObject({
  name: ActionNameSchema,
  /** Lets the device of a user report the action. */
  clientReportable: v.optional(v.boolean(), false),
  /** The types of the properties that `data` may have. @default any properties */
  data: v.exactOptional(properties),
});

/** An action that the space accepts. */
export type ActionDefinition = Immutable<v.InferOutput<typeof ActionSchema>>;

const actionTrigger = v.strictObject({ action: ActionNameSchema });
const changeTriggers = {
  metric: v.strictObject({ metric: idField }),
  challengeCompleted: v.strictObject({ challengeCompleted: uuidField }),
  milestoneReached: v.strictObject({ milestoneReached: idField }),
  inventoryReceived: v.strictObject({ inventoryReceived: idField }),
};
const triggers = [
  actionTrigger,
  changeTriggers.metric,
  changeTriggers.challengeCompleted,
  changeTriggers.milestoneReached,
  changeTriggers.inventoryReceived,
] as const;

const triggerField = choiceOf("RuleTrigger", triggers, input => {
  const [kind = ""] = typeof input === "object" && input !== null ? Object.keys(input) : [];
  return Object.hasOwn(changeTriggers, kind)
    ? changeTriggers[kind as keyof typeof changeTriggers]
    : actionTrigger;
});

/** The event that makes the engine evaluate a rule. */
export type RuleTrigger = Immutable<v.InferOutput<typeof triggerField>>;

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

/** A trigger, a condition and the effects that they have. */
export type LoyaltyRule = Immutable<v.InferOutput<typeof RuleSchema>>;
