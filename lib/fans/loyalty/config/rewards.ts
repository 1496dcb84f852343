/**
 * Rewards, bundles of them, coupons and milestones in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Immutable } from "../../../http/mod.ts";
import {
  durationField,
  expiryField,
  idField,
  metricValue,
  nonEmptyListOf,
  notificationField,
  optionalText,
  partItemsMax,
  quantityField,
  textField,
} from "./fields.ts";

const metric = v.strictObject({
  type: v.literal("metric"),
  metricId: idField,
  /** Takes where it is negative. */
  metricQuantity: quantityField,
});
const inventory = v.strictObject({
  type: v.literal("inventory"),
  inventorySetId: idField,
  inventoryItemId: idField,
});
const coupon = v.strictObject({ type: v.literal("coupon"), couponId: idField });
const bundle = v.strictObject({ type: v.literal("reward"), rewardId: idField });

export const RewardSchema = v.variant("type", [metric, inventory, coupon, bundle]);

/** Points, an item, a coupon or a bundle of these. */
export type Reward = Immutable<v.InferOutput<typeof RewardSchema>>;

/** A reward that is not a bundle. */
export type SingleReward = Exclude<Reward, { readonly type: "reward" }>;

/** An amount of a metric as a reward. */
export type MetricReward = Extract<Reward, { readonly type: "metric" }>;

/** Schema of a named bundle. A bundle contains no bundles. */
export const RewardDefinitionSchema = v.strictObject({
  id: idField,
  title: textField,
  effects: nonEmptyListOf("RewardEffects", v.variant("type", [metric, inventory, coupon])),
});

export const CouponSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    link: optionalText,
    /** `unique`: each user gets another code of the pool; `shared`: all get `code`. */
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

/** A coupon that users may be given. */
export type Coupon = Immutable<v.InferOutput<typeof CouponSchema>>;

/** Schema of a pool of codes. The codes are never part of a configuration. */
export const CodePoolSchema = v.strictObject({ id: idField, title: textField });

/** The number that a ladder follows: the balance of its metric, or all that was ever earned of it and became usable. */
const measures = ["balance", "earned"] as const;

const milestone = v.strictObject({
  id: idField,
  title: textField,
  media: optionalText,
  /** The measure of the metric from which the milestone is reached. */
  threshold: metricValue,
  rewards: v.optional(v.pipe(v.array(RewardSchema), v.maxLength(partItemsMax)), []),
  notification: notificationField,
});

export const MilestoneSetSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    metricId: idField,
    measure: v.optional(v.picklist(measures), "balance"),
    /** Profiles show the milestones of the first such set as tiers. */
    isTier: v.optional(v.boolean(), false),
    /** The time for which a milestone is held. If the metric is below the threshold then, the user falls. @default for ever */
    requalify: v.exactOptional(expiryField),
    milestones: v.pipe(
      nonEmptyListOf("MilestoneSteps", milestone),
      v.check(
        steps =>
          steps.every(({ threshold }, i) => i === 0 || threshold > (steps[i - 1]?.threshold ?? threshold)),
        "Expected milestones with ascending thresholds",
      ),
    ),
  }),
  v.check(
    ({ measure, requalify }) => measure === "balance" || requalify === undefined,
    "Expected no requalify where measure is earned, as spending and time take nothing of it",
  ),
);

/** Milestones along a metric. Each is reached once and kept when the metric falls, except where users have to requalify. */
export type MilestoneSet = Immutable<v.InferOutput<typeof MilestoneSetSchema>>;
