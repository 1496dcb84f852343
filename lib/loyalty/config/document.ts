/**
 * The loyalty configuration of a space, one document that is checked as a whole.
 *
 * Members that the loyalty API shows have the same names there. The others say what earns something, and are never sent to
 * clients. Unknown members are refused, because a misspelt limit would not limit anything.
 *
 * @module
 */

import * as v from "valibot";
import { isTimeZone } from "../../calendar/mod.ts";
import type { Immutable } from "../../http/mod.ts";
import { ChallengeSchema } from "./challenges.ts";
import { durationField, listOf } from "./fields.ts";
import { InventorySetSchema, MetricSchema } from "./metrics.ts";
import { ProductSchema } from "./products.ts";
import { CodePoolSchema, CouponSchema, MilestoneSetSchema, RewardDefinitionSchema } from "./rewards.ts";
import { ActionSchema, RuleSchema } from "./rules.ts";
import { WebhookDefinitionSchema } from "./webhooks.ts";

export type { Challenge, Mission } from "./challenges.ts";
export { ActionNameSchema, idCharactersMax, type NotificationSetting } from "./fields.ts";
export type { Metric } from "./metrics.ts";
export type { Fulfilment, Price, Product } from "./products.ts";
export type {
  Coupon,
  MetricReward,
  MilestoneSet,
  Reward,
} from "./rewards.ts";
export type { ActionData, ActionDefinition, LoyaltyRule, RuleEffect, RuleTrigger } from "./rules.ts";
export type { WebhookDefinition } from "./webhooks.ts";

const productsMax = 200;
const webhooksMax = 10;

const notificationPolicy = v.strictObject({
  /** Users lose a notification this long after it was sent, read or not. */
  keepFor: v.optional(durationField, { days: 30 }),
});

const document = v.strictObject({
  /** The IANA time zone of days, weeks and months. */
  timeZone: v.optional(v.pipe(v.string(), v.check(isTimeZone, "Expected an IANA time zone")), "UTC"),
  metrics: listOf("LoyaltyMetrics", MetricSchema),
  inventory: listOf("LoyaltyInventory", InventorySetSchema),
  milestones: listOf("LoyaltyMilestones", MilestoneSetSchema),
  coupons: listOf("LoyaltyCoupons", CouponSchema),
  codePools: listOf("LoyaltyCodePools", CodePoolSchema),
  actions: listOf("LoyaltyActions", ActionSchema),
  challenges: listOf("LoyaltyChallenges", ChallengeSchema),
  rules: listOf("LoyaltyRules", RuleSchema),
  rewards: listOf("LoyaltyRewards", RewardDefinitionSchema),
  products: listOf("LoyaltyProducts", ProductSchema, productsMax),
  webhooks: listOf("LoyaltyWebhooks", WebhookDefinitionSchema, webhooksMax),
  notifications: v.optional(notificationPolicy, { keepFor: { days: 30 } }),
});

/** A whole loyalty configuration. */
export type LoyaltyConfig = Immutable<v.InferOutput<typeof document>>;

/** Checks the shape of a configuration and fills in defaults. `compileConfig` checks the references between its parts. */
export const LoyaltyConfigSchema: v.GenericSchema<unknown, LoyaltyConfig> = document;
