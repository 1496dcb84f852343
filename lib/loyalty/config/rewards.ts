/**
 * Rewards, bundles of them, coupons and milestones in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Duration } from "../../calendar/mod.ts";
import {
  durationField,
  idField,
  metricValue,
  type NotificationSetting,
  nonEmptyListOf,
  notificationField,
  optionalText,
  quantityField,
  textField,
} from "./fields.ts";

/** An amount of a metric; a negative one takes. */
export interface MetricReward {
  readonly type: "metric";
  readonly metricId: string;
  readonly metricQuantity: number;
}
/** An item, which a fan owns once. */
export interface InventoryReward {
  readonly type: "inventory";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
}
/** A coupon. */
export interface CouponReward {
  readonly type: "coupon";
  readonly couponId: string;
}
/** A bundle that the configuration names. */
export interface BundleReward {
  readonly type: "reward";
  readonly rewardId: string;
}

/** What something earns. */
export type Reward = MetricReward | InventoryReward | CouponReward | BundleReward;

/** A named bundle of rewards. A bundle has no bundles in it. */
export interface RewardDefinition {
  readonly id: string;
  readonly title: string;
  readonly effects: readonly Exclude<Reward, BundleReward>[];
}

/** A coupon that fans may be given. */
export interface Coupon {
  readonly id: string;
  readonly title: string;
  readonly link: string;
  /** `unique`: everybody gets a code of the pool; `shared`: all get the same. */
  readonly type: "unique" | "shared";
  /** The code of a shared coupon. */
  readonly code?: string;
  /** Where the codes of a unique coupon come from. */
  readonly poolId?: string;
  readonly showOnNotification: boolean;
  readonly expiresAfter?: Duration;
}

/** A pool of codes. The codes themselves are never part of a configuration. */
export interface CodePool {
  readonly id: string;
  readonly title: string;
}

/** A rung of a ladder. */
export interface Milestone {
  readonly id: string;
  readonly title: string;
  readonly media: string;
  /** The value of the metric from which it is reached. */
  readonly threshold: number;
  readonly rewards: readonly Reward[];
  readonly notification: NotificationSetting;
}

/** A ladder along a metric, which fans climb and never fall from: each rung is reached once. */
export interface MilestoneSet {
  readonly id: string;
  readonly title: string;
  readonly metricId: string;
  /** Whether its rungs are the tiers that profiles show; of several such ladders the first one's are. */
  readonly isTier: boolean;
  /** In ascending order of their thresholds. */
  readonly milestones: readonly Milestone[];
}

const metric = v.strictObject({
  type: v.literal("metric"),
  metricId: idField,
  metricQuantity: quantityField,
});

const inventory = v.strictObject({
  type: v.literal("inventory"),
  inventorySetId: idField,
  inventoryItemId: idField,
});
const coupon = v.strictObject({ type: v.literal("coupon"), couponId: idField });
const bundle = v.strictObject({ type: v.literal("reward"), rewardId: idField });

/** A reward. */
export const RewardSchema: v.GenericSchema<unknown, Reward> = v.variant("type", [
  metric,
  inventory,
  coupon,
  bundle,
]);

/** A bundle of rewards. */
export const RewardDefinitionSchema: v.GenericSchema<unknown, RewardDefinition> = v.strictObject({
  id: idField,
  title: textField,
  effects: nonEmptyListOf(v.variant("type", [metric, inventory, coupon])),
});

/** A coupon, whose code comes from where its type says. */
export const CouponSchema: v.GenericSchema<unknown, Coupon> = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    link: optionalText,
    type: v.picklist(["unique", "shared"]),
    code: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
    poolId: v.exactOptional(idField),
    showOnNotification: v.optional(v.boolean(), false),
    expiresAfter: v.exactOptional(durationField),
  }),
  v.check(
    ({ type, code, poolId }) =>
      type === "shared"
        ? code !== undefined && poolId === undefined
        : poolId !== undefined && code === undefined,
    "Expected a code for a shared coupon, or a poolId for a unique one, and not both",
  ),
);

/** A pool of codes. */
export const CodePoolSchema: v.GenericSchema<unknown, CodePool> = v.strictObject({
  id: idField,
  title: textField,
});

/** A ladder. */
export const MilestoneSetSchema: v.GenericSchema<unknown, MilestoneSet> = v.strictObject({
  id: idField,
  title: textField,
  metricId: idField,
  isTier: v.optional(v.boolean(), false),
  milestones: v.pipe(
    nonEmptyListOf(
      v.strictObject({
        id: idField,
        title: textField,
        media: optionalText,
        threshold: metricValue,
        rewards: v.optional(v.pipe(v.array(RewardSchema), v.maxLength(50)), []),
        notification: notificationField,
      }),
    ),
    v.check(
      rungs =>
        rungs.every(({ threshold }, i) => i === 0 || threshold > (rungs[i - 1]?.threshold ?? threshold)),
      "Expected milestones with ascending thresholds",
    ),
  ),
});
