/**
 * Credits and debits of an account.
 *
 * @module
 */

import {
  debtPayment,
  drawFrom,
  isPending,
  requireAmount,
  requireCountable,
  requireSettled,
  type Totals,
  totalsOf,
  withLot,
} from "./lots.ts";
import type { AccountChange, Lot, MetricAccount } from "./types.ts";

/**
 * Most lots of an account, with pending ones counted separately. Further points join the lot that expires next after them, or the
 * last one, which then has the later dates of the two.
 */
const lotsMax = 500;

/** A credit. */
export interface CreditOptions {
  /** 0 or more. */
  readonly amount: number;
  readonly at: number;
  /** Id of the new lot, unused in an account without lots. Points of one id and the same dates share a lot. */
  readonly lotId: string;
  /** Pending until then. @default usable at once */
  readonly activatesAt?: number | undefined;
  /** After `at`. @default never */
  readonly expiresAt?: number | null | undefined;
  /** Highest balance, pending points included. */
  readonly ceiling: number;
}

/**
 * Adds points up to the ceiling. The account must be settled at that time.
 *
 * @throws {RangeError} The amount or the dates are not valid, the lot of this id has other dates, or the balance would leave the
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
  const credited = lotWith(lots, fresh, totals);
  if (isPending(credited)) {
    return {
      account: { balance, lots: withLot(lots, credited) },
      entry: { type: "credit", amount, balanceAfter: balance, status: "pending", lot: credited },
    };
  }
  const paid = debtPayment(amount, balance - totals.usable);
  const lot = { ...credited, remaining: credited.remaining - paid };
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

/** Returns the lot of new points: their own, or an existing one. */
function lotWith(lots: readonly Lot[], fresh: Lot, { usableLots, pendingLots }: Totals): Lot {
  const same = lots.find(({ id }) => id === fresh.id);
  if (same !== undefined) {
    if (same.activatesAt === fresh.activatesAt && same.expiresAt === fresh.expiresAt)
      return mergeLots(same, fresh);
    throw new RangeError("Cannot credit points to a lot that has other dates");
  }
  if ((isPending(fresh) ? pendingLots : usableLots) < lotsMax) return fresh;
  const alike = lots.filter(lot => isPending(lot) === isPending(fresh));
  const next = alike.find(lot => laterExpiry(lot, fresh) === lot.expiresAt) ?? alike.at(-1);
  return next === undefined ? fresh : mergeLots(next, fresh);
}

function mergeLots(lot: Lot, fresh: Lot): Lot {
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

/** A debit. */
export interface DebitOptions {
  /** 0 or more. */
  readonly amount: number;
  readonly at: number;
  /** Lowest balance. */
  readonly floor: number;
}

/**
 * Takes points down to the floor: from the lot that expires first, then the oldest, then those that never expire, and at last
 * from points outside all lots. Pending lots are not drawn. The account must be settled at that time.
 *
 * @throws {RangeError} The amount is not valid, or the balance would leave the range of safe integers.
 */
export function debit(account: MetricAccount, options: DebitOptions): AccountChange {
  requireAmount(options.amount, account);
  return debitFirst(account, { ...options, first: [] });
}

/** Takes points, and draws the lots of these ids before all others. */
export function debitFirst(
  account: MetricAccount,
  { amount: wanted, at, floor, first }: DebitOptions & { readonly first: readonly string[] },
): AccountChange {
  const { balance, lots } = account;
  if (lots === null) {
    const balanceAfter = requireCountable(Math.max(balance - wanted, floor));
    const amount = balance - balanceAfter;
    if (amount <= 0) return { account, entry: null };
    return {
      account: { balance: balanceAfter, lots },
      entry: { type: "debit", amount, balanceAfter, status: "completed" },
    };
  }
  requireSettled(account, at);
  const amount = Math.min(wanted, Math.floor(balance - floor));
  if (amount <= 0) return { account, entry: null };
  const balanceAfter = requireCountable(balance - amount);
  const { draws, left } = drawFrom(lots, amount, { first });
  return {
    account: { balance: balanceAfter, lots: left },
    entry: { type: "debit", amount, balanceAfter, status: "completed", draws },
  };
}
