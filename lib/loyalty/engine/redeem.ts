/**
 * The steps of a redemption. Whether there is one to be made is decided before: here it is a fact, in a replay as well.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData } from "../config/document.ts";
import { debit, isReversible, type LedgerEntry, reverseEntry } from "../ledger/mod.ts";
import type { ItemId, RedemptionEvent, Transaction } from "../user/history.ts";
import { nothingReceived, type Received } from "../user/redemption.ts";
import type { UserState } from "../user/state.ts";
import type { ActionContext } from "./apply_action.ts";
import { TransactionBuilder, type TransactionSubject } from "./change.ts";
import { StateDraft } from "./draft.ts";
import { giveCoupon } from "./give.ts";
import { LimitTracker, neverLimited } from "./held_back.ts";
import type { Outcome } from "./outcome.ts";
import { runTriggered } from "./rounds.ts";

/** A step of a redemption. */
export interface RedemptionInput {
  /** Where it begins one, `boughtAt` is replaced by the time that it counts for. */
  readonly fact: RedemptionEvent;
  /** Unix ms. */
  readonly at: number;
  /** What the steps before took and gave. @default nothing */
  readonly paid?: readonly LedgerEntry[];
  /** @default nothing */
  readonly received?: Received;
  /** The code of a unique coupon. @default none yet */
  readonly code?: string | null;
  readonly metadata?: ActionData | undefined;
  /** Why it is rejected. */
  readonly reason?: string | undefined;
}

/** What a step made of a user. */
export interface RedemptionOutcome extends Outcome {
  readonly paid: readonly LedgerEntry[];
  readonly received: Received;
}

/**
 * Takes a step of a redemption, for a user whose state is settled at that time. The price is taken whole, whatever there is, and
 * given back whole to the lots that it came from, whatever the bounds of the metric. Rules look at what changes once
 * the product is given.
 *
 * @throws {RangeError} The state is not settled: see `settle`.
 */
export function applyRedemption(
  compiled: CompiledConfig,
  state: UserState,
  redeeming: RedemptionInput,
  { globalLimitReached = neverLimited }: ActionContext = {},
): RedemptionOutcome {
  const draft = new StateDraft(compiled, state, Math.max(redeeming.at, state.changedAt));
  const { step } = redeeming.fact;
  const begins = step === "reserved" || step === "sold";
  const gives = step === "confirmed" || step === "sold";
  const fact = begins ? { ...redeeming.fact, boughtAt: draft.at } : redeeming.fact;
  const paid = begins ? charge(draft, fact) : (redeeming.paid ?? []);
  const received = gives ? deliver(draft, redeeming) : (redeeming.received ?? nothingReceived);
  if (step === "rejected" || step === "refunded") takeBack(draft, redeeming);
  if (step === "completed")
    draft.record(new TransactionBuilder().transaction("redemptionCompleted", subjectOf(fact)));
  const heldBack = new LimitTracker(draft, globalLimitReached);
  if (gives) {
    draft.trigger("metric", fact.cost.currency);
    runTriggered(draft, heldBack.isLimited);
  }
  const outcome = draft.outcome({ kind: "redemption", redemption: { ...fact, ...heldBack.reported } });
  return { ...outcome, paid, received };
}

function charge(draft: StateDraft, fact: RedemptionEvent): readonly LedgerEntry[] {
  const { currency, amount } = fact.cost;
  const change = new TransactionBuilder();
  const floor = Number.NEGATIVE_INFINITY;
  draft.move(currency, debit(draft.account(currency), { amount, at: draft.at, floor }), change);
  draft.record(change.transaction("redeemed", subjectOf(fact)));
  const limit = draft.compiled.products.get(fact.productId)?.limit ?? null;
  if (limit !== null) draft.count(limit.key, limit.window, fact.quantity);
  return change.entries;
}

/** Coupons have transactions of their own, after that of the redemption. */
function deliver(draft: StateDraft, { fact, code = null, metadata }: RedemptionInput): Received {
  const change = new TransactionBuilder();
  const items: ItemId[] = [];
  const given = fact.given ?? [];
  for (const reward of given) {
    if (reward.type !== "inventory") continue;
    const [setId, itemId] = [reward.inventorySetId, reward.inventoryItemId];
    if (draft.items(setId).includes(itemId)) continue;
    draft.receive(setId, itemId, change);
    items.push({ setId, itemId });
  }
  const about = metadata === undefined ? {} : { metadata };
  draft.record(change.transaction("redemptionConfirmed", { ...subjectOf(fact), ...about }));
  const coupons = given.flatMap(reward => {
    const id = reward.type === "coupon" ? giveCoupon(draft, reward.couponId, code) : null;
    return id === null ? [] : [id];
  });
  return { items, coupons };
}

function takeBack(
  draft: StateDraft,
  { fact, paid = [], received = nothingReceived, reason }: RedemptionInput,
): void {
  const { productId, quantity, boughtAt, step } = fact;
  const change = new TransactionBuilder();
  for (const entry of paid.toReversed()) {
    if (!isReversible(entry)) continue;
    const account = draft.account(entry.metricId);
    const [floor, ceiling] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    draft.moveBack(entry.metricId, reverseEntry(account, entry, { at: draft.at, floor, ceiling }), change);
  }
  for (const { setId, itemId } of received.items) draft.lose(setId, itemId, change);
  if (received.coupons.length > 0) {
    draft.coupons = draft.coupons.filter(({ id }) => !received.coupons.includes(id));
  }
  const limit = draft.compiled.products.get(productId)?.limit ?? null;
  if (limit !== null) draft.uncount(limit.key, limit.window, { amount: quantity, at: boughtAt });
  const type = step === "rejected" ? "redemptionRejected" : "redemptionRefunded";
  const why = reason === undefined ? {} : { reason };
  draft.record(change.transaction(type, { ...subjectOf(fact), ...why }));
}

function subjectOf({ id, productId, quantity }: RedemptionEvent): TransactionSubject {
  return { redemptionId: id, productId, quantity };
}

/** What the steps of redemptions took and gave in a replay, which may not be what they did then. */
export class ReplayedRedemptions {
  readonly #known = new Map<string, Pick<RedemptionOutcome, "paid" | "received">>();

  /** Takes a step as the history tells it. */
  take(
    compiled: CompiledConfig,
    state: UserState,
    redeeming: Pick<RedemptionInput, "fact" | "at"> & ReplayContext,
  ): Outcome {
    const { fact, at, globalLimitReached, transactions } = redeeming;
    const { metadata, reason } = transactions[0]?.payload ?? {};
    const { limited: _, ...told } = fact;
    const before = this.#known.get(fact.id) ?? {};
    const { paid, received, ...outcome } = applyRedemption(
      compiled,
      state,
      { fact: told, at, ...before, metadata, reason },
      { globalLimitReached },
    );
    this.#known.set(fact.id, { paid, received });
    return outcome;
  }
}

/** What else a replayed step depends on. */
export interface ReplayContext extends Required<ActionContext> {
  readonly transactions: readonly Transaction[];
}
