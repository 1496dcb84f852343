/**
 * Rewards of challenges, milestones and grants, and coupons.
 *
 * @module
 */

import { addDuration } from "../../../base/calendar/mod.ts";
import type { Coupon, NotificationSetting } from "../config/document.ts";
import type { GrantedReward, Inheritance, TransactionType } from "../user/history.ts";
import type { ChallengeProgress, UserCoupon } from "../user/state.ts";
import type { StateDraft } from "./draft.ts";
import { giveMetric } from "./metric_changes.ts";
import { TransactionBuilder, type TransactionSubject } from "./transaction_builder.ts";

/** A user has this many coupons at most. An expired one is dropped first, then the oldest. */
const couponsMax = 500;

/** A reward that is not a bundle. */
export type GrantedSingleReward = Exclude<GrantedReward, { readonly type: "reward" }>;

/**
 * Gives rewards in one transaction, to which changes may have been added before. The coupons among them have transactions of their
 * own after it.
 */
export function giveRewards(
  draft: StateDraft,
  rewards: readonly GrantedSingleReward[],
  {
    type,
    subject,
    notification,
    transaction = new TransactionBuilder(),
  }: {
    readonly type: TransactionType;
    readonly subject: TransactionSubject;
    /** @default no announcement */
    readonly notification?: NotificationSetting;
    readonly transaction?: TransactionBuilder;
  },
): void {
  for (const reward of rewards) {
    if (reward.type === "inventory") {
      draft.receiveItem(reward.inventorySetId, reward.inventoryItemId, transaction);
    } else if (reward.type === "metric") {
      const { metricId, metricQuantity: quantity, availableAt, expiresAt } = reward;
      // The last change of the user may be later than the clock that the dates were checked with.
      if (expiresAt !== undefined && expiresAt <= draft.at) continue;
      giveMetric(draft, metricId, { quantity, transaction, availableAt, expiresAt });
    }
  }
  const built = transaction.build(type, subject);
  draft.record(built);
  if (notification !== undefined) draft.notify({ type, ...notification, payload: built.payload });
  for (const reward of rewards) if (reward.type === "coupon") giveCoupon(draft, reward.couponId);
}

/**
 * Gives a coupon and returns the id of the user's own. The result is null for a shared coupon that the user has already, and for
 * one that the configuration does not name.
 *
 * @param claimed The code of a unique coupon that was claimed already, or in a replay its expiry alone.
 */
export function giveCoupon(
  draft: StateDraft,
  couponId: string,
  claimed: Pick<UserCoupon, "code" | "expiresAt"> | null = null,
): string | null {
  const coupon = draft.compiled.coupons.get(couponId);
  if (coupon === undefined) return null;
  const { at, timeZone, coupons } = draft;
  const isOwned = coupons.some(owned => owned.couponId === couponId && isCouponValid(owned, at));
  if (coupon.type === "shared" && isOwned) return null;
  const id = draft.newId();
  const expiresAt = claimed === null ? couponExpiry(coupon, at, timeZone) : claimed.expiresAt;
  const code = coupon.code ?? claimed?.code ?? null;
  const others = coupons.length < couponsMax ? coupons : withoutLeastUseful(coupons, at);
  draft.setCoupons([...others, { id, couponId, code, receivedAt: at, expiresAt }]);
  const transaction = new TransactionBuilder().build("couponReceived", { couponId, userCouponId: id });
  draft.record(transaction);
  if (coupon.showOnNotification) {
    const setting = { display: "toast", title: coupon.title, message: "" };
    draft.notify({ type: "couponReceived", ...setting, payload: transaction.payload });
  }
  return id;
}

/**
 * Takes over progress and coupons of a merged user: milestones that are higher, challenges that are further, and coupons that
 * are still valid. Rewards that either user had for them are not given again.
 */
export function inherit(draft: StateDraft, inheritance: Inheritance): void {
  const { milestones, challenges, coupons, lifetime = {} } = inheritance;
  for (const [metricId, [earned, spent]] of Object.entries(lifetime))
    draft.addLifetime(metricId, earned, spent);
  for (const [setId, progress] of Object.entries(milestones)) {
    const own = draft.milestoneProgress(setId)?.threshold ?? Number.NEGATIVE_INFINITY;
    if (progress.threshold > own) draft.setMilestone(setId, progress);
  }
  for (const [id, progress] of Object.entries(challenges)) {
    const own = draft.challengeProgress(id);
    if (own !== undefined && !isFurther(progress, own)) continue;
    draft.setChallenge(id, progress);
    draft.scheduleDue(progress.endsAt);
  }
  const isOwned = ({ couponId }: UserCoupon): boolean =>
    draft.compiled.coupons.get(couponId)?.type === "shared" &&
    draft.coupons.some(owned => owned.couponId === couponId && isCouponValid(owned, draft.at));
  const taken = coupons.filter(coupon => isCouponValid(coupon, draft.at) && !isOwned(coupon));
  if (taken.length === 0) return;
  const all = [...draft.coupons, ...taken.map(coupon => ({ ...coupon, id: draft.newId() }))];
  draft.setCoupons(all.slice(-couponsMax));
}

/** Checks whether a user is further in the same run of a challenge than another one. */
function isFurther(one: ChallengeProgress, other: ChallengeProgress): boolean {
  return other.status === "none" || (one.run === other.run && stepsOf(one) > stepsOf(other));
}

function stepsOf({ status, counts }: ChallengeProgress): number {
  if (status === "completed") return Number.POSITIVE_INFINITY;
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Returns when a coupon that is given at a time expires, both in Unix ms; null: never. */
export function couponExpiry({ expiresAfter }: Coupon, at: number, timeZone: string): number | null {
  return expiresAfter === undefined ? null : addDuration(at, expiresAfter, timeZone);
}

/** Checks whether a coupon has not expired at a time (Unix ms). */
export function isCouponValid({ expiresAt }: Pick<UserCoupon, "expiresAt">, at: number): boolean {
  return expiresAt === null || expiresAt > at;
}

function withoutLeastUseful(coupons: readonly UserCoupon[], at: number): readonly UserCoupon[] {
  const expired = coupons.findIndex(coupon => !isCouponValid(coupon, at));
  return coupons.toSpliced(Math.max(expired, 0), 1);
}
