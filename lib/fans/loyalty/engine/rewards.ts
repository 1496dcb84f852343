/** Rewards of challenges, milestones and grants, and coupons. */

import { addDuration } from "../../../base/calendar/mod.ts";
import type { CompiledMilestoneSet } from "../config/compiled.ts";
import type { Coupon, MilestoneSet, NotificationSetting } from "../config/document.ts";
import { quantityMax } from "../config/fields.ts";
import type { LotPolicy, Metric } from "../config/parts.ts";
import type { AccountChange, Lot } from "../ledger/movements.ts";
import { credit, debit } from "../ledger/movements.ts";
import type { GrantedReward, Inheritance, PointDates, TransactionType } from "../user/history.ts";
import type { ChallengeProgress, MilestoneProgress, UserCoupon } from "../user/state.ts";
import { endOfDuration, expiryTime } from "./counters.ts";
import { type NextState, TransactionBuilder, type TransactionSubject } from "./next_state.ts";

/** A user has this many coupons at most. An expired one is dropped first, then the oldest. */
const couponsMax = 500;

export type GrantedSingleReward = Exclude<GrantedReward, { readonly type: "reward" }>;

/**
 * Gives rewards in one transaction, to which changes may have been added before. The coupons among them have transactions of their
 * own after it.
 */
export function giveRewards(
  next: NextState,
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
      next.receiveItem(reward.inventorySetId, reward.inventoryItemId, transaction);
    } else if (reward.type === "metric") {
      const { metricId, metricQuantity: quantity, availableAt, expiresAt } = reward;
      // The last change of the user may be later than the clock that the dates were checked with.
      if (expiresAt !== undefined && expiresAt <= next.at) continue;
      giveMetric(next, metricId, { quantity, transaction, availableAt, expiresAt });
    }
  }
  const built = transaction.build(type, subject);
  next.record(built);
  if (notification !== undefined) next.notify({ type, ...notification, payload: built.payload });
  for (const reward of rewards) if (reward.type === "coupon") giveCoupon(next, reward.couponId);
}

/**
 * Gives a coupon and returns the id of the user's own. The result is null for a shared coupon that the user has already, and for
 * one that the configuration does not name.
 *
 * @param claimed The code of a unique coupon that was claimed already, or in a replay its expiry alone.
 */
export function giveCoupon(
  next: NextState,
  couponId: string,
  claimed: Pick<UserCoupon, "code" | "expiresAt"> | null = null,
): string | null {
  const coupon = next.compiled.coupons.get(couponId);
  if (coupon === undefined) return null;
  const { at, timeZone, coupons } = next;
  const isOwned = coupons.some(owned => owned.couponId === couponId && isCouponValid(owned, at));
  if (coupon.type === "shared" && isOwned) return null;
  const id = next.newId();
  const expiresAt = claimed === null ? couponExpiry(coupon, at, timeZone) : claimed.expiresAt;
  const code = coupon.code ?? claimed?.code ?? null;
  const others = coupons.length < couponsMax ? coupons : withoutLeastUseful(coupons, at);
  next.setCoupons([...others, { id, couponId, code, receivedAt: at, expiresAt }]);
  const transaction = new TransactionBuilder().build("couponReceived", { couponId, userCouponId: id });
  next.record(transaction);
  if (coupon.showOnNotification) {
    const setting = { display: "toast", title: coupon.title, message: "" };
    next.notify({ type: "couponReceived", ...setting, payload: transaction.payload });
  }
  return id;
}

/**
 * Takes over progress and coupons of a merged user: milestones that are higher, challenges that are further, and coupons that
 * are still valid. Rewards that either user had for them are not given again.
 */
export function inherit(next: NextState, inheritance: Inheritance): void {
  const { milestones, challenges, coupons, lifetime = {} } = inheritance;
  for (const [metricId, [earned, spent]] of Object.entries(lifetime))
    next.addLifetime(metricId, earned, spent);
  for (const [setId, progress] of Object.entries(milestones)) {
    const own = next.milestoneProgress(setId)?.threshold ?? Number.NEGATIVE_INFINITY;
    if (progress.threshold > own) next.setMilestone(setId, progress);
  }
  for (const [id, progress] of Object.entries(challenges)) {
    const own = next.challengeProgress(id);
    if (own !== undefined && !isFurther(progress, own)) continue;
    next.setChallenge(id, progress);
    next.scheduleDue(progress.endsAt);
  }
  const isOwned = ({ couponId }: UserCoupon): boolean =>
    next.compiled.coupons.get(couponId)?.type === "shared" &&
    next.coupons.some(owned => owned.couponId === couponId && isCouponValid(owned, next.at));
  const taken = coupons.filter(coupon => isCouponValid(coupon, next.at) && !isOwned(coupon));
  if (taken.length === 0) return;
  const all = [...next.coupons, ...taken.map(coupon => ({ ...coupon, id: next.newId() }))];
  next.setCoupons(all.slice(-couponsMax));
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

export interface MetricAddition extends PointDates {
  readonly quantity: number;
  readonly transaction: TransactionBuilder;
}

/** Adds to a metric the amount of an effect or reward, rounded toward zero, and returns what a positive one added. */
export function giveMetric(
  next: NextState,
  metricId: string,
  { quantity: given, transaction, availableAt, expiresAt }: MetricAddition,
): number {
  const metric = next.compiled.metrics.get(metricId);
  if (metric === undefined) return 0;
  const quantity = Math.min(Math.max(Math.trunc(given), -quantityMax), quantityMax);
  return addToMetric(next, metric, { quantity, transaction, availableAt, expiresAt });
}

/** Adds to a metric by a correction. Points that a correction takes count as never earned, and not as spent. */
export function correctMetric(
  next: NextState,
  metric: Metric,
  { quantity, transaction }: MetricAddition,
): void {
  if (quantity >= 0) {
    addToMetric(next, metric, { quantity, transaction });
    return;
  }
  const order = { amount: -quantity, at: next.at, floor: metric.minimumValue };
  takeBackPoints(next, metric.id, { change: debit(next.account(metric.id), order), transaction });
}

interface LedgerChange {
  readonly change: AccountChange;
  readonly transaction: TransactionBuilder;
}

/** Takes over a change, as points that were earned or spent. */
export function movePoints(next: NextState, metricId: string, { change, transaction }: LedgerChange): void {
  if (change.entry === null) return;
  const { type, amount } = change.entry;
  if (type === "credit") next.addLifetime(metricId, amount, 0);
  else next.addLifetime(metricId, 0, amount);
  next.setAccount(metricId, change, transaction);
}

/** Takes over a change that reverses an earlier one: such points count as never earned, or as never spent. */
export function takeBackPoints(
  next: NextState,
  metricId: string,
  { change, transaction }: LedgerChange,
): void {
  if (change.entry === null) return;
  const { type, amount } = change.entry;
  if (type === "debit") next.addLifetime(metricId, -amount, 0);
  else next.addLifetime(metricId, 0, -amount);
  next.setAccount(metricId, change, transaction);
}

function addToMetric(
  next: NextState,
  metric: Metric,
  { quantity, transaction, availableAt, expiresAt }: MetricAddition,
): number {
  if (quantity === 0) return 0;
  const { at } = next;
  const account = next.account(metric.id);
  let change: AccountChange;
  if (quantity < 0) {
    change = debit(account, { amount: -quantity, at, floor: metric.minimumValue });
  } else {
    const dates = { policy: metric.lots ?? {}, availableAt, expiresAt };
    const lot = account.lots === null ? { lotId: "" } : lotFor(account.lots, dates, next);
    change = credit(account, { amount: quantity, at, ceiling: metric.maximumValue, ...lot });
  }
  movePoints(next, metric.id, { change, transaction });
  return quantity > 0 ? (change.entry?.amount ?? 0) : 0;
}

/** The dates given with points, and the policy of their metric for those that are not. */
interface DatesOfLot extends PointDates {
  readonly policy: LotPolicy;
}

/**
 * Chooses the lot of points. Points with the same dates share a lot, and durations of days or longer end with a day, so that
 * users who earn often have few lots.
 */
function lotFor(
  lots: readonly Lot[],
  dates: DatesOfLot,
  next: NextState,
): { readonly lotId: string; readonly activatesAt: number; readonly expiresAt: number | null } {
  const { at } = next;
  const { expires } = dates.policy;
  const usableAt = activationTime(dates, next);
  const activatesAt = usableAt > at ? usableAt : 0;
  const expiresAt =
    dates.expiresAt ??
    (expires === undefined || "inactive" in expires
      ? null
      : expiryTime(expires, Math.max(usableAt, at), next));
  const same = lots.find(lot => lot.activatesAt === activatesAt && lot.expiresAt === expiresAt);
  return { lotId: same?.id ?? next.newId(), activatesAt, expiresAt };
}

/** Returns when points that are added now become usable, in Unix ms; perhaps a time in the past. */
export function activationTime(
  { policy: { activatesAfter }, availableAt }: DatesOfLot,
  { at, timeZone }: { readonly at: number; readonly timeZone: string },
): number {
  return availableAt ?? (activatesAfter === undefined ? at : endOfDuration(at, activatesAfter, timeZone));
}

export function findReachedMilestones(next: NextState, { set }: CompiledMilestoneSet): readonly number[] {
  const value = set.measure === "earned" ? next.earned(set.metricId) : next.metric(set.metricId);
  const highest = next.milestoneProgress(set.id)?.threshold ?? Number.NEGATIVE_INFINITY;
  return set.milestones.flatMap(({ threshold }, index) =>
    threshold > highest && threshold <= value ? [index] : [],
  );
}

export function reachMilestones(
  next: NextState,
  { set, rewards }: CompiledMilestoneSet,
  indexes: readonly number[],
): void {
  for (const index of indexes) {
    const milestone = set.milestones[index];
    if (milestone === undefined || !next.hasRoom()) continue;
    const { id: milestoneId, threshold, notification } = milestone;
    const transaction = new TransactionBuilder();
    transaction.addMilestone(set.id, next.milestone(set.id), milestoneId);
    next.setMilestone(set.id, heldMilestone(next, set, { milestoneId, threshold }));
    giveRewards(next, rewards[index] ?? [], {
      type: "milestoneReached",
      subject: {},
      notification,
      transaction,
    });
    next.trigger("milestoneReached", set.id);
  }
}

/**
 * Ends the time for which a milestone is held. It begins anew where the metric still reaches the threshold; otherwise the user falls
 * to the highest milestone that it reaches.
 */
export function requalify(next: NextState, set: MilestoneSet): void {
  const held = next.milestoneProgress(set.id);
  if (held?.until === undefined || held.until > next.at) return;
  const value = next.metric(set.metricId);
  if (value >= held.threshold) {
    next.setMilestone(set.id, heldMilestone(next, set, held));
    return;
  }
  const lower = set.milestones.findLast(({ threshold }) => threshold <= value);
  const transaction = new TransactionBuilder();
  transaction.addMilestone(set.id, held.milestoneId, lower?.id ?? "");
  if (lower === undefined) next.removeMilestone(set.id);
  else {
    const { id: milestoneId, threshold } = lower;
    next.setMilestone(set.id, heldMilestone(next, set, { milestoneId, threshold }));
  }
  next.record(transaction.build("milestoneLost"));
}

function heldMilestone(
  next: NextState,
  { requalify: end }: MilestoneSet,
  { milestoneId, threshold }: MilestoneProgress,
): MilestoneProgress {
  if (end === undefined) return { milestoneId, threshold };
  return { milestoneId, threshold, until: expiryTime(end, next.at, next) };
}
