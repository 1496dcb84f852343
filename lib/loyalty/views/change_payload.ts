/**
 * Schemas of changes, rewards and coupons, as loyalty and the audience API answer them. Names of types are open: more may come.
 *
 * @module
 */

import * as v from "valibot";
import { named } from "../../http/mod.ts";

const text = v.string();
const number = v.number();
const optionalText = v.exactOptional(text);
const Item = named("InventoryItem", v.object({ setId: text, itemId: text }));

/** Caller-supplied data and metadata. */
export const PropertiesSchema = named("Properties", v.record(text, v.union([text, number, v.boolean()])));

/** The change that a transaction or a notification is about. */
export const ChangePayloadSchema = named(
  "ChangePayload",
  v.object({
    challengeId: optionalText,
    missionId: optionalText,
    couponId: optionalText,
    userCouponId: optionalText,
    redemptionId: optionalText,
    productId: optionalText,
    quantity: v.exactOptional(v.pipe(number, v.integer())),
    metadata: v.exactOptional(PropertiesSchema),
    reason: optionalText,
    metricChanges: v.record(text, v.object({ oldValue: number, newValue: number })),
    inventoryChanges: v.object({ received: v.array(Item), lost: v.array(Item) }),
    milestoneChanges: v.record(text, v.object({ oldValue: text, newValue: text })),
  }),
);

/** A reward of a challenge. */
export const EarnedRewardSchema = named(
  "EarnedReward",
  v.object({
    type: text,
    metricId: optionalText,
    metricQuantity: v.exactOptional(number),
    inventorySetId: optionalText,
    inventoryItemId: optionalText,
    couponId: optionalText,
    rewardId: optionalText,
  }),
);

/** A coupon of a user, with its code. */
export const UserCouponSchema = named(
  "UserCoupon",
  v.object({
    id: text,
    title: text,
    link: text,
    coupon_id: text,
    coupon_type: text,
    coupon_code: v.pipe(text, v.description("Empty while the pool has no code for it")),
    showOnNotification: v.boolean(),
  }),
);

/** Items and coupon that a redemption gave its user. */
export const FulfilmentSchema = named(
  "Fulfilment",
  v.object({ type: text, coupon: v.nullable(UserCouponSchema), items: v.array(Item) }),
);
