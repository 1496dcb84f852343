/**
 * Schemas of transactions, notifications, rewards and coupons, as loyalty and the audience API answer them. Names of types
 * are open: more may come.
 */

import * as v from "valibot";
import { type Immutable, named } from "../../../http/mod.ts";

const text = v.string();
const number = v.number();
const optionalText = v.exactOptional(text);
const Item = named("InventoryItem", v.object({ setId: text, itemId: text }));

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
    /** The reason of a grant, an adjustment or a rejection. */
    reason: optionalText,
    metricChanges: v.record(text, v.object({ oldValue: number, newValue: number })),
    inventoryChanges: v.object({ received: v.array(Item), lost: v.array(Item) }),
    /** Ids of milestones by the id of their set; empty: none. */
    milestoneChanges: v.record(text, v.object({ oldValue: text, newValue: text })),
  }),
);

/** The subject and the changes of a transaction or notification. */
export type ChangePayload = Immutable<v.InferOutput<typeof ChangePayloadSchema>>;

export type ItemId = Immutable<v.InferOutput<typeof Item>>;

const seconds = v.pipe(number, v.integer(), v.description("Unix time in seconds"));

export const TransactionSchema = named(
  "LoyaltyTransaction",
  v.object({
    id: text,
    timestamp: seconds,
    type: text,
    payload: ChangePayloadSchema,
    happenedAt: v.exactOptional(
      v.pipe(seconds, v.description("When the action of the transaction happened, Unix time in seconds")),
    ),
    actionId: v.exactOptional(v.pipe(text, v.description("Id under which the action was reported"))),
    metadata: v.exactOptional(
      v.pipe(
        v.record(text, v.unknown()),
        v.description("Metadata given with the action, reward or redemption"),
      ),
    ),
  }),
);

export const notificationText = { display: text, title: text, message: text };

export const NotificationSchema = named(
  "LoyaltyNotification",
  v.object({ id: text, timestamp: seconds, type: text, ...notificationText, payload: ChangePayloadSchema }),
);

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

export const FulfilmentSchema = named(
  "Fulfilment",
  v.object({ type: text, coupon: v.nullable(UserCouponSchema), items: v.array(Item) }),
);
