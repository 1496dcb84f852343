/**
 * The loyalty configuration of a space: one document that is checked as a whole.
 *
 * The members that the loyalty API shows are named as it shows them. The others are ours: they say what earns something,
 * and are never sent to clients. A member that no part of a configuration has is refused, because a misspelt limit
 * would not limit anything.
 *
 * @module
 */

import * as v from "valibot";
import { isTimeZone } from "../../calendar/mod.ts";
import { productsMax, webhooksMax } from "./bounds.ts";
import { type Challenge, ChallengeSchema } from "./challenges.ts";
import { listOf } from "./fields.ts";
import { type InventorySet, InventorySetSchema, type Metric, MetricSchema } from "./metrics.ts";
import { type NotificationPolicy, NotificationPolicySchema } from "./notifications.ts";
import { type Product, ProductSchema } from "./products.ts";
import {
  type CodePool,
  CodePoolSchema,
  type Coupon,
  CouponSchema,
  type MilestoneSet,
  MilestoneSetSchema,
  type RewardDefinition,
  RewardDefinitionSchema,
} from "./rewards.ts";
import { type ActionDefinition, ActionSchema, type LoyaltyRule, RuleSchema } from "./rules.ts";
import { type WebhookDefinition, WebhookDefinitionSchema } from "./webhooks.ts";

export * from "./bounds.ts";
export type { Challenge, Mission, MissionRule } from "./challenges.ts";
export { ActionNameSchema, type NotificationSetting, type Window } from "./fields.ts";
export type { InventoryItem, InventorySet, LotPolicy, Metric } from "./metrics.ts";
export { keepForDefault, type NotificationPolicy } from "./notifications.ts";
export type { Fulfilment, Price, Product, ProductLimits, Stock } from "./products.ts";
export {
  type CodePool,
  type Coupon,
  type Milestone,
  type MilestoneSet,
  type Reward,
  type RewardDefinition,
  RewardSchema,
} from "./rewards.ts";
export type { ActionDefinition, DataType, LoyaltyRule, RuleEffect, RuleLimit, RuleTrigger } from "./rules.ts";
export { type WebhookDefinition, webhookEvents, webhookUrlCharactersMax } from "./webhooks.ts";

/** A whole loyalty configuration. */
export interface LoyaltyConfig {
  /** The IANA time zone in which days, weeks and months are counted. */
  readonly timeZone: string;
  readonly metrics: readonly Metric[];
  readonly inventory: readonly InventorySet[];
  readonly milestones: readonly MilestoneSet[];
  readonly coupons: readonly Coupon[];
  readonly codePools: readonly CodePool[];
  readonly actions: readonly ActionDefinition[];
  readonly challenges: readonly Challenge[];
  readonly rules: readonly LoyaltyRule[];
  readonly rewards: readonly RewardDefinition[];
  readonly products: readonly Product[];
  readonly webhooks: readonly WebhookDefinition[];
  readonly notifications: NotificationPolicy;
}

/** Checks the shape of a configuration and fills in defaults. `compileConfig` checks what refers to what. */
export const LoyaltyConfigSchema: v.GenericSchema<unknown, LoyaltyConfig> = v.strictObject({
  timeZone: v.optional(v.pipe(v.string(), v.check(isTimeZone, "Expected an IANA time zone")), "UTC"),
  metrics: listOf(MetricSchema),
  inventory: listOf(InventorySetSchema),
  milestones: listOf(MilestoneSetSchema),
  coupons: listOf(CouponSchema),
  codePools: listOf(CodePoolSchema),
  actions: listOf(ActionSchema),
  challenges: listOf(ChallengeSchema),
  rules: listOf(RuleSchema),
  rewards: listOf(RewardDefinitionSchema),
  products: listOf(ProductSchema, productsMax),
  webhooks: listOf(WebhookDefinitionSchema, webhooksMax),
  notifications: NotificationPolicySchema,
});
