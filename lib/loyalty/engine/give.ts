/**
 * Giving rewards, each as a transaction.
 *
 * @module
 */

import { addDuration } from "../../calendar/mod.ts";
import type { NotificationSetting } from "../config/document.ts";
import { quantityMax } from "../config/fields.ts";
import type { MetricReward } from "../config/rewards.ts";
import type { GrantedReward, PointDates, TransactionType } from "../user/history.ts";
import type { UserCoupon } from "../user/state.ts";
import { TransactionBuilder, type TransactionSubject } from "./change.ts";
import type { MetricAddition, StateDraft } from "./draft.ts";

/** Most coupons that a user has; an expired one goes first, then the oldest. */
export const couponsMax = 500;

/** A reward that is not a bundle. */
export type GrantedSingleReward = Exclude<GrantedReward, { readonly type: "reward" }>;

/** Why rewards are given, and how that is announced. */
export interface RewardContext {
  readonly type: TransactionType;
  readonly subject: TransactionSubject;
  /** Omitted: it is not announced. */
  readonly notification?: NotificationSetting;
}

/** Gives all rewards of an occasion. The coupons among them have transactions of their own, after that of the occasion. */
export function giveRewards(
  draft: StateDraft,
  rewards: readonly GrantedSingleReward[],
  occasion: RewardContext & { readonly change?: TransactionBuilder },
): void {
  const { type, subject, notification, change = new TransactionBuilder() } = occasion;
  for (const reward of rewards) {
    if (reward.type === "metric") givePoints(draft, reward, change);
    if (reward.type === "inventory") draft.receive(reward.inventorySetId, reward.inventoryItemId, change);
  }
  const transaction = change.transaction(type, subject);
  draft.record(transaction);
  if (notification !== undefined) draft.notify({ type, ...notification, payload: transaction.payload });
  for (const reward of rewards) if (reward.type === "coupon") giveCoupon(draft, reward.couponId);
}

function givePoints(
  draft: StateDraft,
  { metricId, metricQuantity: quantity, availableAt, expiresAt }: MetricReward & PointDates,
  change: TransactionBuilder,
): void {
  // The user's last change may be later than the clock of whoever checked the dates.
  if (expiresAt !== undefined && expiresAt <= draft.at) return;
  giveMetric(draft, metricId, { quantity, change, availableAt, expiresAt });
}

/** Adds to a metric what an effect came to, rounded toward zero. */
export function giveMetric(
  draft: StateDraft,
  metricId: string,
  { quantity, ...addition }: MetricAddition & { readonly quantity: number },
): void {
  const metric = draft.compiled.metrics.get(metricId);
  if (metric === undefined) return;
  const amount = Math.min(Math.max(Math.trunc(quantity), -quantityMax), quantityMax);
  draft.addToMetric(metric, amount, addition);
}

/**
 * Gives a coupon, and answers the id of the user's own. Who has a shared one that is still good keeps that one: then, as for
 * one that the configuration does not name, the answer is null.
 *
 * @param poolCode The code of a unique coupon, where it has one already.
 */
export function giveCoupon(
  draft: StateDraft,
  couponId: string,
  poolCode: string | null = null,
): string | null {
  const coupon = draft.compiled.coupons.get(couponId);
  if (coupon === undefined) return null;
  const { at, timeZone } = draft;
  const isGood = (held: UserCoupon): boolean => isCouponValid(held, at);
  const isHeld = draft.coupons.some(held => held.couponId === couponId && isGood(held));
  if (coupon.type === "shared" && isHeld) return null;
  const id = draft.newId();
  const expiresAt = coupon.expiresAfter === undefined ? null : addDuration(at, coupon.expiresAfter, timeZone);
  const code = coupon.code ?? poolCode;
  const kept = draft.coupons.length < couponsMax ? draft.coupons : withoutOne(draft.coupons, isGood);
  draft.coupons = [...kept, { id, couponId, code, receivedAt: at, expiresAt }];
  const transaction = new TransactionBuilder().transaction("couponReceived", { couponId, userCouponId: id });
  draft.record(transaction);
  if (coupon.showOnNotification) {
    const setting = { display: "toast", title: coupon.title, message: "" };
    draft.notify({ type: "couponReceived", ...setting, payload: transaction.payload });
  }
  return id;
}

/** Whether a coupon has not expired at a time. */
export function isCouponValid({ expiresAt }: UserCoupon, at: number): boolean {
  return expiresAt === null || expiresAt > at;
}

function withoutOne(
  coupons: readonly UserCoupon[],
  isGood: (coupon: UserCoupon) => boolean,
): readonly UserCoupon[] {
  const expired = coupons.findIndex(coupon => !isGood(coupon));
  return coupons.toSpliced(Math.max(expired, 0), 1);
}
