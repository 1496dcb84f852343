/**
 * The loyalty configuration of a space, one document that is checked as a whole.
 *
 * Members that the loyalty API shows have the same names there. The others say what earns something, and are never sent to
 * clients. Unknown members are refused, because a misspelt limit would not limit anything.
 */

import * as v from "valibot";
import { isTimeZone } from "../../../base/calendar/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import { customFieldOf, durationField, listOf, partItemsMax } from "./fields.ts";
import {
  ChallengeSchema,
  CodePoolSchema,
  CouponSchema,
  InventorySetSchema,
  MetricSchema,
  MilestoneSetSchema,
  ProductSchema,
  RewardDefinitionSchema,
  WebhookDefinitionSchema,
} from "./parts.ts";
import { ActionSchema, MultiplierSchema, RuleSchema } from "./rules.ts";

export { ActionNameSchema, idCharactersMax, type NotificationSetting } from "./fields.ts";
export type {
  Challenge,
  Coupon,
  Fulfilment,
  Metric,
  MetricReward,
  MilestoneSet,
  Mission,
  Price,
  Product,
  Reward,
  WebhookDefinition,
} from "./parts.ts";
export type { ActionData, ActionDefinition, LoyaltyRule, RuleEffect } from "./rules.ts";

const productsMax = 200;
const webhooksMax = 10;

const notificationPolicy = v.strictObject({
  /** Users lose a notification this long after it was sent, read or not. */
  keepFor: v.optional(durationField, { days: 30 }),
});

function partsOf<T>(name: string, description: string, item: v.GenericSchema<unknown, T>, max?: number) {
  return v.pipe(listOf(name, item, max), v.description(description));
}

const document = v.strictObject({
  timeZone: v.optional(
    v.pipe(
      v.string(),
      v.description("IANA time zone of days, weeks and months"),
      v.check(isTimeZone, "Expected an IANA time zone"),
    ),
    "UTC",
  ),
  userTimeZone: v.exactOptional(
    v.pipe(
      v.strictObject({
        var: v.pipe(
          v.string(),
          v.check(
            path => customFieldOf(path) !== null,
            "Expected the path of a custom field, such as user.custom.timeZone",
          ),
        ),
      }),
      v.description("Custom field of the profile with the IANA time zone of the user's own days"),
    ),
  ),
  weekStartsOn: v.pipe(
    v.optional(v.picklist(["monday", "sunday"]), "monday"),
    v.description("First day of weeks"),
  ),
  metrics: partsOf("LoyaltyMetrics", "Numbers of each user, such as points", MetricSchema),
  inventory: partsOf("LoyaltyInventory", "Sets of things that users collect", InventorySetSchema),
  milestones: partsOf(
    "LoyaltyMilestones",
    "Thresholds of metrics, and what reaching them earns",
    MilestoneSetSchema,
  ),
  coupons: partsOf("LoyaltyCoupons", "Coupons that users are given", CouponSchema),
  codePools: partsOf("LoyaltyCodePools", "Pools of unique codes, for coupons and products", CodePoolSchema),
  actions: partsOf("LoyaltyActions", "Actions that may be reported", ActionSchema),
  challenges: partsOf("LoyaltyChallenges", "Challenges and their missions", ChallengeSchema),
  rules: partsOf("LoyaltyRules", "What actions and events cause", RuleSchema),
  multipliers: partsOf(
    "LoyaltyMultipliers",
    "Times at which rules give a multiple",
    MultiplierSchema,
    partItemsMax,
  ),
  rewards: partsOf("LoyaltyRewards", "Rewards that others name by their ids", RewardDefinitionSchema),
  products: partsOf("LoyaltyProducts", "What users pay for with metrics", ProductSchema, productsMax),
  webhooks: partsOf("LoyaltyWebhooks", "Services that receive changes", WebhookDefinitionSchema, webhooksMax),
  notifications: v.pipe(
    v.optional(notificationPolicy, { keepFor: { days: 30 } }),
    v.description("How long notifications are kept"),
  ),
});

/** A whole loyalty configuration. */
export type LoyaltyConfig = Immutable<v.InferOutput<typeof document>>;

/** Checks the shape of a configuration and fills in defaults. `compileConfig` checks the references between its parts. */
export const LoyaltyConfigSchema: v.GenericSchema<v.InferInput<typeof document>, LoyaltyConfig> = document;
