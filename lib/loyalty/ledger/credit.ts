import {
  isPending,
  requireAmount,
  requireCountable,
  requireSettled,
  type Totals,
  totalsOf,
  towardsDebt,
  withLot,
} from "./_lots.ts";
import type { AccountChange, Lot, MetricAccount } from "./types.ts";

/**
 * Most lots of an account, pending ones counted apart. Points that come when there are as many join the lot that expires
 * next after them, or the last one, which then has the later dates of the two.
 */
export const lotsMax = 500;

/** What is credited. */
export interface CreditOptions {
  /** 0 or more. */
  readonly amount: number;
  readonly at: number;
  /** Names the new lot; of no use where the account keeps none. Points of one id and the same dates share a lot. */
  readonly lotId: string;
  /** Pending until then. @default at once */
  readonly activatesAt?: number | undefined;
  /** After `at`. @default never */
  readonly expiresAt?: number | null | undefined;
  /** Highest balance; pending points keep their place below it. */
  readonly ceiling: number;
}

/**
 * Adds points, as many as the ceiling leaves room for. The account must be settled at that time.
 *
 * @throws {RangeError} The amount or the dates are not valid, the lot's id has other dates, or the balance would leave the
 *   range of safe integers.
 */
export function credit(account: MetricAccount, options: CreditOptions): AccountChange {
  requireAmount(options.amount, account);
  const { balance, lots } = account;
  if (lots === null) return creditPlain(account, options);
  requireSettled(account, options.at);
  const totals = totalsOf(lots);
  const room = Math.floor(options.ceiling - balance - totals.pending);
  const amount = Math.min(options.amount, room);
  if (amount <= 0) return { account, entry: null };
  requireCountable(balance + totals.pending + amount);
  const fresh = newLot(options, amount);
  const holder = joined(lots, fresh, totals);
  if (isPending(holder)) {
    return {
      account: { balance, lots: withLot(lots, holder) },
      entry: { type: "credit", amount, balanceAfter: balance, status: "pending", lot: holder },
    };
  }
  const lot = { ...holder, remaining: holder.remaining - towardsDebt(amount, balance - totals.usable) };
  const balanceAfter = balance + amount;
  return {
    account: { balance: balanceAfter, lots: withLot(lots, lot) },
    entry: { type: "credit", amount, balanceAfter, status: "completed", lot },
  };
}

function creditPlain(account: MetricAccount, { amount, ceiling }: CreditOptions): AccountChange {
  const balanceAfter = requireCountable(Math.min(account.balance + amount, ceiling));
  const given = balanceAfter - account.balance;
  if (given <= 0) return { account, entry: null };
  return {
    account: { balance: balanceAfter, lots: null },
    entry: { type: "credit", amount: given, balanceAfter, status: "completed" },
  };
}

function newLot({ at, lotId, activatesAt = at, expiresAt = null }: CreditOptions, amount: number): Lot {
  if (expiresAt !== null && expiresAt <= at) {
    throw new RangeError("Cannot credit points that have expired already");
  }
  return {
    id: lotId,
    amount,
    remaining: amount,
    creditedAt: at,
    activatesAt: activatesAt > at ? activatesAt : 0,
    expiresAt,
  };
}

/** The lot that the points are in: one of their own, or one that there is. */
function joined(lots: readonly Lot[], fresh: Lot, { usableLots, pendingLots }: Totals): Lot {
  const same = lots.find(({ id }) => id === fresh.id);
  if (same !== undefined) {
    if (same.activatesAt === fresh.activatesAt && same.expiresAt === fresh.expiresAt)
      return merged(same, fresh);
    throw new RangeError("Cannot credit points to a lot that has other dates");
  }
  if ((isPending(fresh) ? pendingLots : usableLots) < lotsMax) return fresh;
  const alike = lots.filter(lot => isPending(lot) === isPending(fresh));
  const next = alike.find(lot => laterExpiry(lot, fresh) === lot.expiresAt) ?? alike.at(-1);
  return next === undefined ? fresh : merged(next, fresh);
}

function merged(lot: Lot, fresh: Lot): Lot {
  return {
    ...lot,
    amount: requireCountable(lot.amount + fresh.amount),
    remaining: lot.remaining + fresh.amount,
    activatesAt: Math.max(lot.activatesAt, fresh.activatesAt),
    expiresAt: laterExpiry(lot, fresh),
  };
}

function laterExpiry(a: Lot, b: Lot): number | null {
  return a.expiresAt === null || b.expiresAt === null ? null : Math.max(a.expiresAt, b.expiresAt);
}
