/**
 * The loyalty configuration of a space, one document that is checked as a whole.
 *
 * Members that the loyalty API shows have the same names there. The others say what earns something, and are never sent to
 * clients. Unknown members are refused, because a misspelt limit would not limit anything.
 *
 * @module
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
export type { ActionData, ActionDefinition, LoyaltyRule, RuleEffect, RuleTrigger } from "./rules.ts";

const productsMax = 200;
const webhooksMax = 10;

const notificationPolicy = v.strictObject({
  /** Users lose a notification this long after it was sent, read or not. */
  keepFor: v.optional(durationField, { days: 30 }),
});

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
  metrics: v.pipe(
    listOf("LoyaltyMetrics", MetricSchema),
    v.description("Numbers of each user, such as points"),
  ),
  inventory: v.pipe(
    listOf("LoyaltyInventory", InventorySetSchema),
    v.description("Sets of things that users collect"),
  ),
  milestones: v.pipe(
    listOf("LoyaltyMilestones", MilestoneSetSchema),
    v.description("Thresholds of metrics, and what reaching them earns"),
  ),
  coupons: v.pipe(listOf("LoyaltyCoupons", CouponSchema), v.description("Coupons that users are given")),
  codePools: v.pipe(
    listOf("LoyaltyCodePools", CodePoolSchema),
    v.description("Pools of unique codes, for coupons and products"),
  ),
  actions: v.pipe(listOf("LoyaltyActions", ActionSchema), v.description("Actions that may be reported")),
  challenges: v.pipe(
    listOf("LoyaltyChallenges", ChallengeSchema),
    v.description("Challenges and their missions"),
  ),
  rules: v.pipe(listOf("LoyaltyRules", RuleSchema), v.description("What actions and events cause")),
  multipliers: v.pipe(
    listOf("LoyaltyMultipliers", MultiplierSchema, partItemsMax),
    v.description("Times at which rules give a multiple"),
  ),
  rewards: v.pipe(
    listOf("LoyaltyRewards", RewardDefinitionSchema),
    v.description("Rewards that others name by their ids"),
  ),
  products: v.pipe(
    listOf("LoyaltyProducts", ProductSchema, productsMax),
    v.description("What users pay for with metrics"),
  ),
  webhooks: v.pipe(
    listOf("LoyaltyWebhooks", WebhookDefinitionSchema, webhooksMax),
    v.description("Services that receive changes"),
  ),
  notifications: v.pipe(
    v.optional(notificationPolicy, { keepFor: { days: 30 } }),
    v.description("How long notifications are kept"),
  ),
});

/** A whole loyalty configuration. */
export type LoyaltyConfig = Immutable<v.InferOutput<typeof document>>;

/** Checks the shape of a configuration and fills in defaults. `compileConfig` checks the references between its parts. */
export const LoyaltyConfigSchema: v.GenericSchema<v.InferInput<typeof document>, LoyaltyConfig> = document;
