/**
 * The steps of a redemption. An earlier decision allowed it: here, and in a replay, a step is a fact.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData } from "../config/document.ts";
import { debit, isReversible, type LedgerEntry, reverseEntry } from "../ledger/mod.ts";
import type { ItemId } from "../user/change_payload.ts";
import type { RedemptionEvent } from "../user/history.ts";
import { nothingReceived, type Received, type UserState } from "../user/state.ts";
import type { EventOptions } from "./apply_events.ts";
import { type Outcome, StateDraft } from "./draft.ts";
import { movePoints, takeBackPoints } from "./metric_changes.ts";
import { giveCoupon } from "./rewards.ts";
import { runTriggered } from "./rounds.ts";
import { TransactionBuilder, type TransactionSubject } from "./transaction_builder.ts";

/** A step of a redemption. */
export interface RedemptionInput {
  /** The first step replaces `boughtAt` by the time at which it counts. */
  readonly fact: RedemptionEvent;
  /** Unix ms. */
  readonly at: number;
  /** The payment of earlier steps. @default nothing */
  readonly paid?: readonly LedgerEntry[] | undefined;
  /** The deliveries of earlier steps. @default nothing */
  readonly received?: Received | undefined;
  /** The code of a unique coupon. @default none yet */
  readonly code?: string | null;
  readonly metadata?: ActionData | undefined;
  /** The reason of a rejection. */
  readonly reason?: string | undefined;
}

/** The result of a step. */
export interface RedemptionOutcome extends Outcome {
  readonly paid: readonly LedgerEntry[];
  readonly received: Received;
}

/**
 * Applies a step to a state that is advanced to its time. The price is taken and given back whole, whatever the bounds of the
 * metric. The changes trigger rules once the product is delivered.
 *
 * @throws {RangeError} The state is not advanced: see `advanceTime`.
 */
export function applyRedemption(
  compiled: CompiledConfig,
  state: UserState,
  input: RedemptionInput,
  options: EventOptions = {},
): RedemptionOutcome {
  const draft = new StateDraft(compiled, state, input.at, options);
  const { step } = input.fact;
  const isFirst = step === "reserved" || step === "sold";
  const isDelivered = step === "confirmed" || step === "sold";
  const fact = isFirst ? { ...input.fact, boughtAt: draft.at } : input.fact;
  if (isFirst) draft.noteActivity();
  const paid = isFirst ? charge(draft, fact) : (input.paid ?? []);
  const received = isDelivered ? deliver(draft, input) : (input.received ?? nothingReceived);
  if (step === "rejected" || step === "refunded") giveBack(draft, input);
  if (step === "completed") {
    draft.record(new TransactionBuilder().build("redemptionCompleted", subjectOf(fact)));
  }
  if (isDelivered) {
    // A sale at once has triggered its payment already.
    if (!isFirst || paid.length === 0) draft.trigger("metric", fact.cost.currency);
    runTriggered(draft);
  }
  const outcome = draft.finish({ kind: "redemption", redemption: { ...fact, ...draft.limitedFirings } });
  return { ...outcome, paid, received };
}

function charge(draft: StateDraft, fact: RedemptionEvent): readonly LedgerEntry[] {
  const { currency, amount } = fact.cost;
  const transaction = new TransactionBuilder();
  const floor = Number.NEGATIVE_INFINITY;
  const change = debit(draft.account(currency), { amount, at: draft.at, floor });
  movePoints(draft, currency, { change, transaction });
  draft.record(transaction.build("redeemed", subjectOf(fact)));
  const limit = draft.compiled.products.get(fact.productId)?.limit ?? null;
  if (limit !== null) draft.count(limit.key, limit.window, fact.quantity);
  return transaction.entries;
}

/** Coupons have transactions of their own, after that of the redemption. */
function deliver(draft: StateDraft, { fact, code = null, metadata }: RedemptionInput): Received {
  const transaction = new TransactionBuilder();
  const items: ItemId[] = [];
  const given = fact.given ?? [];
  for (const reward of given) {
    if (reward.type !== "inventory") continue;
    const [setId, itemId] = [reward.inventorySetId, reward.inventoryItemId];
    if (draft.items(setId).includes(itemId)) continue;
    draft.receiveItem(setId, itemId, transaction);
    items.push({ setId, itemId });
  }
  const extra = metadata === undefined ? {} : { metadata };
  const { couponExpiresAt: expiresAt } = fact;
  const claimed = expiresAt === undefined ? null : { code, expiresAt };
  draft.record(transaction.build("redemptionConfirmed", { ...subjectOf(fact), ...extra }));
  const coupons = given.flatMap(reward => {
    const id = reward.type === "coupon" ? giveCoupon(draft, reward.couponId, claimed) : null;
    return id === null ? [] : [id];
  });
  return { items, coupons };
}

function giveBack(
  draft: StateDraft,
  { fact, paid = [], received = nothingReceived, reason }: RedemptionInput,
): void {
  const { productId, quantity, boughtAt, step } = fact;
  const transaction = new TransactionBuilder();
  const [floor, ceiling] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const entry of paid.toReversed()) {
    if (!isReversible(entry)) continue;
    const change = reverseEntry(draft.account(entry.metricId), entry, { at: draft.at, floor, ceiling });
    takeBackPoints(draft, entry.metricId, { change, transaction });
  }
  for (const { setId, itemId } of received.items) draft.loseItem(setId, itemId, transaction);
  if (received.coupons.length > 0) {
    draft.setCoupons(draft.coupons.filter(({ id }) => !received.coupons.includes(id)));
  }
  const limit = draft.compiled.products.get(productId)?.limit ?? null;
  if (limit !== null) draft.uncount(limit.key, limit.window, { amount: quantity, at: boughtAt });
  const type = step === "rejected" ? "redemptionRejected" : "redemptionRefunded";
  const extra = reason === undefined ? {} : { reason };
  draft.record(transaction.build(type, { ...subjectOf(fact), ...extra }));
}

function subjectOf({ id, productId, quantity }: RedemptionEvent): TransactionSubject {
  return { redemptionId: id, productId, quantity };
}
