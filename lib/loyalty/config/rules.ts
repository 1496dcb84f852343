/**
 * Actions and rules in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import { configPartsMax, declaredPropertiesMax, ruleLimitMax } from "./bounds.ts";
import { calculationField, conditionField } from "./expressions.ts";
import {
  ActionNameSchema,
  type CalendarWindow,
  calendarWindowField,
  choiceOf,
  idField,
  integerBetween,
  integerField,
  listOf,
  type NotificationSetting,
  nonEmptyListOf,
  notificationField,
  quantityField,
  uuidField,
  type Window,
  windowField,
} from "./fields.ts";
import type { MetricReward, Reward } from "./rewards.ts";

/** The type of a property of an action's data. */
export type DataType = "string" | "number" | "boolean";

/** An action that the space knows. */
export interface ActionDefinition {
  readonly name: string;
  /** Whether a fan's own device may report it. */
  readonly clientReportable: boolean;
  /** The properties that its data may have. Omitted: any. */
  readonly data?: Readonly<Record<string, DataType>>;
}

/** What makes a rule be looked at. */
export type RuleTrigger =
  | { readonly action: string }
  /** A metric that changed. */
  | { readonly metric: string }
  | { readonly challengeCompleted: string }
  /** A milestone of the ladder that was reached. */
  | { readonly milestoneReached: string }
  /** An item of the set that was received. */
  | { readonly inventoryReceived: string };

/** A metric effect, whose amount may be an expression; what it gives is rounded toward zero. */
export interface MetricEffect extends Omit<MetricReward, "metricQuantity"> {
  readonly metricQuantity: unknown;
}

/** What a rule does. */
export type RuleEffect =
  | Exclude<Reward, MetricReward>
  | MetricEffect
  | { readonly type: "inventoryLoss"; readonly inventorySetId: string; readonly inventoryItemId: string }
  | { readonly type: "notification"; readonly notification: NotificationSetting }
  | { readonly type: "challengeStart"; readonly challengeId: string }
  | { readonly type: "missionCompletion"; readonly challengeId: string; readonly missionId: string }
  | { readonly type: "challengeCompletion"; readonly challengeId: string }
  | { readonly type: "challengeFailure"; readonly challengeId: string };

/** How often a rule may fire. */
export type RuleLimit =
  | { readonly per: "user"; readonly max: number; readonly window?: Window }
  /** For all users of the space together. */
  | { readonly per: "global"; readonly max: number; readonly window?: CalendarWindow };

/** What a trigger earns each time, under a condition. */
export interface LoyaltyRule {
  readonly id: string;
  readonly trigger: RuleTrigger;
  readonly when?: unknown;
  readonly effects: readonly RuleEffect[];
  /** Lower first; rules of equal priority apply in the order of their ids. */
  readonly priority: number;
  readonly limits: readonly RuleLimit[];
  /** Of the rules of a group only the first that holds fires. */
  readonly group?: string;
  readonly enabled: boolean;
}

const properties: v.GenericSchema<unknown, Record<string, DataType>> = v.pipe(
  v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(64)), v.picklist(["string", "number", "boolean"])),
  v.maxEntries(declaredPropertiesMax),
);

/** An action. */
export const ActionSchema: v.GenericSchema<unknown, ActionDefinition> = v.strictObject({
  name: ActionNameSchema,
  clientReportable: v.optional(v.boolean(), false),
  data: v.exactOptional(properties),
});

const triggers: Readonly<Record<string, v.GenericSchema<unknown, RuleTrigger>>> = {
  metric: v.strictObject({ metric: idField }),
  challengeCompleted: v.strictObject({ challengeCompleted: uuidField }),
  milestoneReached: v.strictObject({ milestoneReached: idField }),
  inventoryReceived: v.strictObject({ inventoryReceived: idField }),
};

const actionTrigger = v.strictObject({ action: ActionNameSchema });
/** A trigger. */
export const TriggerSchema: v.GenericSchema<unknown, RuleTrigger> = choiceOf<RuleTrigger>(
  [actionTrigger, ...Object.values(triggers)],
  input => {
    const [kind = ""] = typeof input === "object" && input !== null ? Object.keys(input) : [];
    const other = Object.hasOwn(triggers, kind) ? triggers[kind] : undefined;
    return other ?? actionTrigger;
  },
);

/** A constant amount, or an expression that is checked when it is compiled. */
const amount = choiceOf<unknown>([quantityField, calculationField], input =>
  typeof input === "object" && input !== null ? calculationField : quantityField,
);
const item = { inventorySetId: idField, inventoryItemId: idField };
const challengeId = uuidField;

/** An effect of a rule. */
export const EffectSchema: v.GenericSchema<unknown, RuleEffect> = v.variant("type", [
  v.strictObject({ type: v.literal("metric"), metricId: idField, metricQuantity: amount }),
  v.strictObject({ type: v.literal("inventory"), ...item }),
  v.strictObject({ type: v.literal("coupon"), couponId: idField }),
  v.strictObject({ type: v.literal("reward"), rewardId: idField }),
  v.strictObject({ type: v.literal("inventoryLoss"), ...item }),
  v.strictObject({ type: v.literal("notification"), notification: notificationField }),
  v.strictObject({ type: v.literal("challengeStart"), challengeId }),
  v.strictObject({ type: v.literal("missionCompletion"), challengeId, missionId: uuidField }),
  v.strictObject({ type: v.literal("challengeCompletion"), challengeId }),
  v.strictObject({ type: v.literal("challengeFailure"), challengeId }),
]);

const max = integerBetween(1, ruleLimitMax);

const LimitSchema: v.GenericSchema<unknown, RuleLimit> = v.variant("per", [
  v.strictObject({ per: v.literal("user"), max, window: v.exactOptional(windowField) }),
  v.strictObject({ per: v.literal("global"), max, window: v.exactOptional(calendarWindowField) }),
]);

/** A rule. */
export const RuleSchema: v.GenericSchema<unknown, LoyaltyRule> = v.strictObject({
  id: idField,
  trigger: TriggerSchema,
  when: v.exactOptional(conditionField),
  effects: nonEmptyListOf(EffectSchema),
  priority: v.optional(integerField, 0),
  limits: listOf(LimitSchema, configPartsMax),
  group: v.exactOptional(idField),
  enabled: v.optional(v.boolean(), true),
});
