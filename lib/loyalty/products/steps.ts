/**
 * The decisions about a user that a redemption is made of. Each takes effect once, whoever makes it however often.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { keyName, onceMark, type ReadRecord, type Stored, type Write } from "../../storage/mod.ts";
import type { Command, CommandResult } from "../commands/command.ts";
import type { LimitUses } from "../commands/limit_uses.ts";
import type { Reward } from "../config/document.ts";
import { applyRedemption, type RedemptionInput } from "../engine/mod.ts";
import type { RedemptionEvent, RedemptionStep } from "../user/history.ts";
import type { Redemption, RedemptionFault, RedemptionStatus, UserState } from "../user/state.ts";
import { acceptOrder, type OrderContext } from "./accept_order.ts";
import { isOwned, type RedemptionOrder } from "./redeemable.ts";

/** How long a redemption is on record after it was decided for good, in ms: 366 days. */
export const redemptionKeptMs: number = 366 * 24 * 60 * 60 * 1_000;

/** What the decisions about one redemption depend on. */
export type StepContext = Omit<OrderContext, "sold">;

/** What was found out about a redemption outside its user's partition. */
export interface ReservationResult {
  /** Why there is nothing to give; null: there is. */
  readonly fault: RedemptionFault | null;
  /** Whether stock was taken for it. */
  readonly isTaken: boolean;
  /** The code of a unique coupon. */
  readonly code: string | null;
}

/** By how many characters of its id, each one of sixteen, the tally is found that marks a redemption as begun. */
const markCharacters = 2;
const boards = { action: "", data: {} };

/** Reads a redemption that is on record. */
export function readRedemption(id: string): ReadRecord {
  return { type: "record", key: keyName("redemption", id) };
}

/** A redemption from its record. */
export function parseRedemption(stored: Stored): Redemption {
  return JSON.parse(stored.value) as Redemption;
}

/** A redemption that somebody has to go on with. */
export function openRedemption({ redemptions }: UserState, id: string): Redemption | null {
  return redemptions.find(redemption => redemption.id === id) ?? null;
}

/**
 * Takes the price; where nothing outside the user's partition has a say, the product is given at once. Nothing happens where
 * the redemption was begun before. The decision throws what `ordered` does.
 */
export function beginCommand(context: OrderContext, order: RedemptionOrder): Command {
  const { id } = context;
  const mark = { key: keyName("redeemed", id.slice(-markCharacters)), field: id };
  return {
    isIdempotent: true,
    scoring: boards,
    reads: [onceMark(mark.key, mark.field)],
    decide: (settled, [seen], uses) => {
      if ((seen as ReadonlyMap<string, number>).size > 0) return null;
      const redemption = acceptOrder(context, settled, order);
      const mustAsk = redemption.takesStock || redemption.poolId !== undefined;
      const step = mustAsk ? "reserved" : "sold";
      const made = taken(context, settled, { redemption, step, uses });
      return { ...made, writes: [{ type: "add", ...mark, by: 1 }, ...made.writes] };
    },
  };
}

/**
 * Gives the product of a redemption that is paid for, or the price back. Nothing happens where that is done. It is rejected too where
 * the user has come to own what it would give.
 */
export function settleRedemptionCommand(context: StepContext, verdict: ReservationResult): Command {
  const { id, config, now } = context;
  return {
    isIdempotent: true,
    scoring: boards,
    decide: (settled, _, uses) => {
      const redemption = openRedemption(settled, id);
      if (redemption?.status !== "reserved") return null;
      const { fulfilment } = redemption;
      const isGone = fulfilment.type === "coupon" && !config.coupons.has(fulfilment.couponId);
      const own = isOwned(config, settled, { fulfilment, now }) ? "limit_reached" : null;
      const fault = verdict.fault ?? (isGone ? "not_available" : own);
      if (fault === null) {
        return taken(context, settled, { redemption, step: "confirmed", uses, code: verdict.code });
      }
      const rejected = { ...redemption, fault };
      return taken(context, settled, {
        redemption: rejected,
        step: "rejected",
        uses,
        mustReturn: verdict.isTaken || verdict.code !== null,
      });
    },
  };
}

/**
 * Notes that a product was handed over. Nothing happens where that was noted before.
 *
 * The decision throws `not_found`, and `conflict` where there is nothing to hand over.
 */
export function completeCommand(context: StepContext): Command {
  return {
    isIdempotent: true,
    scoring: boards,
    reads: [readRedemption(context.id)],
    decide: (settled, [stored], uses) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "completed") return null;
      if (redemption.status !== "pending") {
        throw new AppError("conflict", `Cannot complete the redemption as it is ${redemption.status}`);
      }
      return taken(context, settled, { redemption, step: "completed", uses });
    },
  };
}

/**
 * Gives the price of a redemption back, and takes back what it gave. Nothing happens where that was done before.
 *
 * The decision throws `not_found`, and `conflict` where the price was given back already, or nothing is decided yet.
 *
 * @param restocks Whether what it took of the stock is to be sold again.
 */
export function refundCommand(context: StepContext, restocks: boolean): Command {
  return {
    isIdempotent: true,
    scoring: boards,
    reads: [readRedemption(context.id)],
    decide: (settled, [stored], uses) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "refunded") return null;
      if (redemption.status === "rejected") {
        throw new AppError(
          "conflict",
          "Cannot refund the redemption as it was rejected, and the price given back",
        );
      }
      const mustReturn = restocks && redemption.takesStock;
      return taken(context, settled, { redemption, step: "refunded", uses, mustReturn });
    },
  };
}

function decidedRedemption({ id }: StepContext, state: UserState, stored: Stored | null): Redemption {
  if (openRedemption(state, id)?.status === "reserved") {
    throw new AppError("conflict", "Cannot change the redemption before it is decided", {
      retryAfterMs: 1_000,
    });
  }
  if (stored === null)
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  return parseRedemption(stored);
}

interface Taking {
  readonly redemption: Redemption;
  readonly step: RedemptionStep;
  readonly uses: LimitUses;
  readonly code?: string | null;
  /** Whether stock or a code that it took is to be given back from now on. @default false */
  readonly mustReturn?: boolean;
}

/** A step, with the redemption as it is then: in the state while somebody has to go on with it, else in its record. */
function taken(
  { config, now }: StepContext,
  state: UserState,
  { redemption: before, step, uses, code = null, mustReturn = false }: Taking,
): CommandResult & { readonly writes: readonly Write[] } {
  const { paid, received, metadata, fault: reason } = before;
  const redeeming: RedemptionInput = {
    fact: factOf(before, step),
    at: now,
    paid,
    received,
    code,
    metadata,
    reason,
  };
  const made = applyRedemption(config, state, redeeming, { globalLimitReached: uses.isReached });
  const { paid: paidNow, received: receivedNow, ...outcome } = made;
  const redemption: Redemption = {
    ...before,
    paid: paidNow,
    received: receivedNow,
    status: statusAfter(before, step),
    boughtAt: outcome.record.redemption?.boughtAt ?? before.boughtAt,
    changedAt: outcome.record.at,
  };
  const isOpen = step === "reserved" || mustReturn;
  const others = outcome.state.redemptions.filter(({ id }) => id !== before.id);
  const redemptions = isOpen ? [...others, redemption] : others;
  const writes = step === "reserved" ? [] : [recordOf(redemption, now)];
  return { ...outcome, state: { ...outcome.state, redemptions }, redemption, writes };
}

function factOf(
  { id, productId, quantity, cost, boughtAt, fulfilment }: Redemption,
  step: RedemptionStep,
): RedemptionEvent {
  const fact = { id, step, productId, quantity, cost, boughtAt };
  if (step !== "confirmed" && step !== "sold") return fact;
  const isReward = fulfilment.type === "coupon" || fulfilment.type === "inventory";
  const given: readonly Reward[] = isReward ? [fulfilment] : [];
  return { ...fact, given };
}

function statusAfter({ fulfilment }: Redemption, step: RedemptionStep): RedemptionStatus {
  if (step !== "confirmed" && step !== "sold") return step;
  return fulfilment.type === "manual" || fulfilment.type === "webhook" ? "pending" : "completed";
}

/** What is yet to be handed over stays on record until it is. */
function recordOf(redemption: Redemption, now: number): Write {
  const put = {
    type: "put",
    key: readRedemption(redemption.id).key,
    value: JSON.stringify(redemption),
  } as const;
  return redemption.status === "pending" ? put : { ...put, expireAt: now + redemptionKeptMs };
}
