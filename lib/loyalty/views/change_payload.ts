/**
 * What transactions and notifications say of a change: loyalty answers it, and the audience API hands it on.
 *
 * @module
 */

import * as v from "valibot";

const text = v.string();
const number = v.number();
const optionalText = v.exactOptional(text);
const item = v.object({ setId: text, itemId: text });

/** What whoever caused a change noted of it: texts, numbers and booleans by their names. */
export const PropertiesSchema: v.GenericSchema = v.record(text, v.union([text, number, v.boolean()]));

/** The change that a transaction or a notification is about. */
export const ChangePayloadSchema: v.GenericSchema = v.object({
  challengeId: optionalText,
  missionId: optionalText,
  couponId: optionalText,
  userCouponId: optionalText,
  redemptionId: optionalText,
  productId: optionalText,
  quantity: v.exactOptional(number),
  metadata: v.exactOptional(PropertiesSchema),
  reason: optionalText,
  metricChanges: v.record(text, v.object({ oldValue: number, newValue: number })),
  inventoryChanges: v.object({ received: v.array(item), lost: v.array(item) }),
  milestoneChanges: v.record(text, v.object({ oldValue: text, newValue: text })),
});

/** What something earns, as challenges announce it. */
export const EarnedRewardSchema: v.GenericSchema = v.object({
  type: text,
  metricId: optionalText,
  metricQuantity: v.exactOptional(number),
  inventorySetId: optionalText,
  inventoryItemId: optionalText,
  couponId: optionalText,
  rewardId: optionalText,
});

/** A coupon of a user, with its code. */
export const UserCouponSchema: v.GenericSchema = v.object({
  id: text,
  title: text,
  link: text,
  coupon_id: text,
  coupon_type: text,
  coupon_code: text,
  showOnNotification: v.boolean(),
});

/** What a redemption gave its user. */
export const FulfilmentSchema: v.GenericSchema = v.object({
  type: text,
  coupon: v.nullable(UserCouponSchema),
  items: v.array(item),
});
