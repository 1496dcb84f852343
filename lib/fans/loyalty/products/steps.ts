/**
 * The commands that a redemption is made of. Each takes effect once, however often it is run.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { keyName, onceMark, type ReadRecord, type Stored, type Write } from "../../../storage/mod.ts";
import type { Command, CommandResult, DecisionInput } from "../commands/command.ts";
import { adjustmentCommand } from "../commands/corrections.ts";

import type { Reward } from "../config/document.ts";
import type { PoolCode } from "../coupons/mod.ts";
import { applyRedemption, type RedemptionInput } from "../engine/mod.ts";
import { isCouponValid } from "../engine/rewards.ts";
import type { RedemptionEvent, RedemptionStep } from "../user/history.ts";
import {
  type Redemption,
  type RedemptionFault,
  type RedemptionStatus,
  requireUnmerged,
  type UserState,
} from "../user/state.ts";
import { acceptOrder, isOwned, type OrderContext, type RedemptionOrder } from "./orders.ts";

/** Time for which a redemption stays on record after its last step, in ms: 366 days. */
const keptMs = 366 * 24 * 60 * 60 * 1_000;

/** Dependencies of the steps of a redemption. */
export type StepContext = Omit<OrderContext, "soldIn" | "hasCode">;

/** Stock and code that were taken for a redemption, outside its user's partition. */
export interface Reservation {
  /** The reason for which there is nothing to give; null: there is. */
  readonly fault: RedemptionFault | null;
  /** True where stock was taken. */
  readonly isTaken: boolean;
  /** The code of a unique coupon. */
  readonly code: PoolCode | null;
}

/** Characters of the id that select the tally of the mark: 256 tallies, because each has a bound. */
const markCharacters = 2;

/** Makes the read of a redemption's record. */
export function readRedemption(id: string): ReadRecord {
  return { type: "record", key: keyName("redemption", id) };
}

/** Parses the record of a redemption. */
export function parseRedemption(stored: Stored): Redemption {
  return JSON.parse(stored.value) as Redemption;
}

/** Finds a redemption that is not finished. */
export function openRedemption({ redemptions }: UserState, id: string): Redemption | null {
  return redemptions.find(redemption => redemption.id === id) ?? null;
}

/**
 * Makes the command that takes the price. A product without stock and code is given at once. The command has no effect where the
 * redemption was begun before; its decision throws as `acceptOrder` does.
 */
export function beginCommand(context: OrderContext, order: RedemptionOrder): Command {
  const { id } = context;
  const mark = { key: keyName("redeemed", id.slice(-markCharacters)), field: id };
  return {
    isIdempotent: true,
    extraReads: [onceMark(mark.key, mark.field)],
    decide: (settled, [marks], uses) => {
      if ((marks as ReadonlyMap<string, number>).size > 0) return null;
      requireUnmerged(settled);
      const redemption = acceptOrder(context, settled, order, uses.profile);
      const needsReservation = redemption.takesStock || redemption.poolId !== undefined;
      const step = needsReservation ? "reserved" : "sold";
      const outcome = takeStep(context, settled, { redemption, step, uses });
      return { ...outcome, writes: [{ type: "add", ...mark, by: 1 }, ...outcome.writes] };
    },
  };
}

/**
 * Makes the command that gives the product of a paid redemption, or the price back. It rejects the redemption too where the user
 * already owns the product by then.
 */
export function settleRedemptionCommand(context: StepContext, reservation: Reservation): Command {
  const { id, config, now } = context;
  return {
    isIdempotent: true,
    decide: (settled, _, uses) => {
      const redemption = openRedemption(settled, id);
      if (redemption?.status !== "reserved") return null;
      const { fulfilment } = redemption;
      const isGone = fulfilment.type === "coupon" && !config.coupons.has(fulfilment.couponId);
      // The process that took the code was interrupted for longer than the coupon lasts.
      const isExpired = !isCouponValid(reservation.code ?? { expiresAt: null }, now);
      const limit = isOwned(config, settled, { fulfilment, now }) ? "limit_reached" : null;
      const fault = reservation.fault ?? (isGone || isExpired ? "not_available" : limit);
      if (fault === null) {
        return takeStep(context, settled, { redemption, step: "confirmed", uses, code: reservation.code });
      }
      const rejected = { ...redemption, fault };
      return takeStep(context, settled, {
        redemption: rejected,
        step: "rejected",
        uses,
        mustReturn: reservation.isTaken || reservation.code !== null,
      });
    },
  };
}

/**
 * Makes the command that marks a product as handed over. Its decision throws `not_found`, and `conflict` where there is nothing to
 * hand over.
 */
export function completeCommand(context: StepContext): Command {
  return {
    isIdempotent: true,
    extraReads: [readRedemption(context.id)],
    decide: (settled, [stored], uses) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "completed") return null;
      if (redemption.status !== "pending") {
        throw new AppError("conflict", `Cannot complete the redemption as it is ${redemption.status}`);
      }
      return takeStep(context, settled, { redemption, step: "completed", uses });
    },
  };
}

/**
 * Makes the command that gives the price of a redemption back and takes back what it gave. The redemption stays open while its code
 * is to be revoked, or stock to be given back. Its decision throws `not_found`, and `conflict` where the price was given back already,
 * or nothing is decided yet.
 *
 * @param restocks Returns the units to the stock.
 */
export function refundCommand(context: StepContext, restocks: boolean): Command {
  return {
    isIdempotent: true,
    extraReads: [readRedemption(context.id)],
    decide: (settled, [stored], uses) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "refunded") return null;
      if (redemption.status === "rejected") {
        throw new AppError(
          "conflict",
          "Cannot refund the redemption as it was rejected, and the price given back",
        );
      }
      requireUnmerged(settled);
      const takesStock = restocks && redemption.takesStock;
      const mustReturn = takesStock || redemption.poolId !== undefined;
      return takeStep(context, settled, {
        redemption: { ...redemption, takesStock },
        step: "refunded",
        uses,
        mustReturn,
      });
    },
  };
}

/** Makes the command that gives the price of a merged user's redemption to the account, once. */
export function mergedRefundCommand({ id, config, now }: StepContext, redemption: Redemption): Command {
  const { currency, amount } = redemption.cost;
  const refunded = { ...redemption, status: "refunded", changedAt: now } as const;
  return adjustmentCommand(
    config,
    {
      changes: [{ metricId: currency, op: "incr", value: amount }],
      reason: `Refund of the redemption ${id} of a merged user`,
      extra: {
        reads: [readRedemption(id)],
        wasApplied: ([stored]) => stored !== null,
        writes: () => [recordOf(refunded, now)],
      },
    },
    now,
  );
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

interface Step {
  readonly redemption: Redemption;
  readonly step: RedemptionStep;
  readonly uses: DecisionInput;
  readonly code?: PoolCode | null;
  /** True where stock or a code that it took must be given back. @default false */
  readonly mustReturn?: boolean;
}

/** Applies a step. The redemption is in the user's state while it is not finished, else in a record of its own. */
function takeStep(
  { config, now }: StepContext,
  state: UserState,
  { redemption: before, step, uses, code = null, mustReturn = false }: Step,
): CommandResult & { readonly writes: readonly Write[] } {
  const { metadata, fault: reason } = before;
  const input: RedemptionInput = {
    fact: { ...factOf(before, step), ...(code === null ? {} : { couponExpiresAt: code.expiresAt }) },
    at: now,
    paid: before.paid,
    received: before.received,
    code: code?.code ?? null,
    metadata,
    reason,
  };
  const applied = applyRedemption(config, state, input, {
    globalLimitReached: uses.isReached,
    profile: uses.profile,
  });
  const { paid, received, ...outcome } = applied;
  const redemption: Redemption = {
    ...before,
    paid,
    received,
    status: statusAfter(before, step),
    boughtAt: outcome.record.redemption?.boughtAt ?? before.boughtAt,
    changedAt: outcome.record.at,
  };
  const isOpen = step === "reserved" || mustReturn;
  const others = outcome.state.redemptions.filter(({ id }) => id !== before.id);
  outcome.state.redemptions = isOpen ? [...others, redemption] : others;
  const writes = step === "reserved" ? [] : [recordOf(redemption, now)];
  return { ...outcome, redemption, writes };
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

/** Writes the record, without expiry while the product is to be handed over. */
function recordOf(redemption: Redemption, now: number): Write {
  const put = {
    type: "put",
    key: readRedemption(redemption.id).key,
    value: JSON.stringify(redemption),
  } as const;
  return redemption.status === "pending" ? put : { ...put, expireAt: now + keptMs };
}
