/**
 * Changes of metrics through the ledger, within the bounds of the metric.
 *
 * @module
 */

import { quantityMax } from "../config/fields.ts";
import type { LotPolicy, Metric } from "../config/metrics.ts";
import { type AccountChange, credit, debit, type Lot } from "../ledger/mod.ts";
import type { PointDates } from "../user/history.ts";
import type { StateDraft } from "./draft.ts";
import { endOfDuration, expiryTime } from "./expiry_times.ts";
import type { TransactionBuilder } from "./transaction_builder.ts";

/** An amount to add to a metric, or to take from it where it is negative. */
export interface MetricAddition extends PointDates {
  readonly quantity: number;
  readonly transaction: TransactionBuilder;
}

/** Adds to a metric the amount of an effect or reward, rounded toward zero, and returns what a positive one added. */
export function giveMetric(draft: StateDraft, metricId: string, addition: MetricAddition): number {
  const metric = draft.compiled.metrics.get(metricId);
  if (metric === undefined) return 0;
  const quantity = Math.min(Math.max(Math.trunc(addition.quantity), -quantityMax), quantityMax);
  return addToMetric(draft, metric, { ...addition, quantity });
}

/** Adds to a metric by a correction. Points that a correction takes count as never earned, and not as spent. */
export function correctMetric(
  draft: StateDraft,
  metric: Metric,
  { quantity, transaction }: MetricAddition,
): void {
  if (quantity >= 0) {
    addToMetric(draft, metric, { quantity, transaction });
    return;
  }
  const order = { amount: -quantity, at: draft.at, floor: metric.minimumValue };
  takeBackPoints(draft, metric.id, { change: debit(draft.account(metric.id), order), transaction });
}

/** A change that the ledger made of a metric. */
interface LedgerChange {
  readonly change: AccountChange;
  readonly transaction: TransactionBuilder;
}

/** Takes over a change, as points that were earned or spent. */
export function movePoints(draft: StateDraft, metricId: string, { change, transaction }: LedgerChange): void {
  if (change.entry === null) return;
  const { type, amount } = change.entry;
  if (type === "credit") draft.addLifetime(metricId, amount, 0);
  else draft.addLifetime(metricId, 0, amount);
  draft.setAccount(metricId, change, transaction);
}

/** Takes over a change that reverses an earlier one: such points count as never earned, or as never spent. */
export function takeBackPoints(
  draft: StateDraft,
  metricId: string,
  { change, transaction }: LedgerChange,
): void {
  if (change.entry === null) return;
  const { type, amount } = change.entry;
  if (type === "debit") draft.addLifetime(metricId, -amount, 0);
  else draft.addLifetime(metricId, 0, -amount);
  draft.setAccount(metricId, change, transaction);
}

function addToMetric(
  draft: StateDraft,
  metric: Metric,
  { quantity, transaction, availableAt, expiresAt }: MetricAddition,
): number {
  if (quantity === 0) return 0;
  const { at } = draft;
  const account = draft.account(metric.id);
  let change: AccountChange;
  if (quantity < 0) {
    change = debit(account, { amount: -quantity, at, floor: metric.minimumValue });
  } else {
    const dates = { policy: metric.lots ?? {}, availableAt, expiresAt };
    const lot = account.lots === null ? { lotId: "" } : lotFor(account.lots, dates, draft);
    change = credit(account, { amount: quantity, at, ceiling: metric.maximumValue, ...lot });
  }
  movePoints(draft, metric.id, { change, transaction });
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
  draft: StateDraft,
): { readonly lotId: string; readonly activatesAt: number; readonly expiresAt: number | null } {
  const { at } = draft;
  const { expires } = dates.policy;
  const usableAt = activationTime(dates, draft);
  const activatesAt = usableAt > at ? usableAt : 0;
  const expiresAt =
    dates.expiresAt ??
    (expires === undefined || "inactive" in expires
      ? null
      : expiryTime(expires, Math.max(usableAt, at), draft));
  const same = lots.find(lot => lot.activatesAt === activatesAt && lot.expiresAt === expiresAt);
  return { lotId: same?.id ?? draft.newId(), activatesAt, expiresAt };
}

/** Returns when points that are added now become usable, in Unix ms; perhaps a time in the past. */
export function activationTime(
  { policy: { activatesAfter }, availableAt }: DatesOfLot,
  { at, timeZone }: { readonly at: number; readonly timeZone: string },
): number {
  return availableAt ?? (activatesAfter === undefined ? at : endOfDuration(at, activatesAfter, timeZone));
}
