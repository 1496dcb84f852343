/**
 * Credits and debits of an account, and its lots in the order in which they are drawn.
 *
 * @module
 */

import { addDecimals } from "../../../base/text/mod.ts";
import type { AccountChange, Draw, Lot, MetricAccount } from "./types.ts";

/** First-expiring first, then the oldest; those that never expire last. */
function compareLots(a: Lot, b: Lot): number {
  const [first, second] = [a.expiresAt ?? Number.POSITIVE_INFINITY, b.expiresAt ?? Number.POSITIVE_INFINITY];
  if (first !== second) return first < second ? -1 : 1;
  if (a.creditedAt !== b.creditedAt) return a.creditedAt - b.creditedAt;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** Checks whether a lot cannot be drawn yet. */
export function isPending({ activatesAt }: Lot): boolean {
  return activatesAt > 0;
}

/** Returns the list with a lot in order, in place of the one with its id. An empty lot is left out. */
export function withLot(lots: readonly Lot[], lot: Lot): readonly Lot[] {
  const index = lots.findIndex(({ id }) => id === lot.id);
  const before = lots[index];
  if (before !== undefined && lot.remaining > 0 && compareLots(before, { ...lot, id: before.id }) === 0) {
    return lots.with(index, lot);
  }
  const others = before === undefined ? lots : lots.toSpliced(index, 1);
  return lot.remaining === 0 ? others : others.toSpliced(insertionIndex(others, lot), 0, lot);
}

function insertionIndex(lots: readonly Lot[], lot: Lot): number {
  let [low, high] = [0, lots.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = lots[middle];
    if (other !== undefined && compareLots(other, lot) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The points of usable and pending lots, and the numbers of these lots. */
interface Totals {
  readonly usable: number;
  readonly pending: number;
  readonly usableLots: number;
  readonly pendingLots: number;
}

/** Adds up the points of lots. */
export function totalsOf(lots: readonly Lot[]): Totals {
  let [usable, pending, pendingLots] = [0, 0, 0];
  for (const lot of lots) {
    if (isPending(lot)) {
      pending += lot.remaining;
      pendingLots += 1;
    } else usable += lot.remaining;
  }
  return { usable, pending, usableLots: lots.length - pendingLots, pendingLots };
}

/** Returns the points outside all lots; negative: a debt. */
export function pointsOutside(balance: number, lots: readonly Lot[]): number {
  return balance - totalsOf(lots).usable;
}

/** Returns the part of an amount that pays a debt. */
export function debtPayment(amount: number, outside: number): number {
  return outside < 0 ? Math.min(amount, -outside) : 0;
}

/** Takes an amount, or as much as they have, from usable lots in their order, and from those of some ids first. */
export function drawFrom(
  lots: readonly Lot[],
  wanted: number,
  {
    first = [],
    isDrawn = isUsable,
  }: { readonly first?: readonly string[]; readonly isDrawn?: (lot: Lot) => boolean } = {},
): { readonly draws: readonly Draw[]; readonly left: readonly Lot[] } {
  const draws: Draw[] = [];
  const left = lots.slice();
  let missing = wanted;
  let hasEmptied = false;
  function draw(lot: Lot, index: number): void {
    const { id, amount: of, remaining, creditedAt, expiresAt } = lot;
    const amount = Math.min(remaining, missing);
    draws.push({ lot: id, amount, of, creditedAt, expiresAt });
    left[index] = { ...lot, remaining: remaining - amount };
    missing -= amount;
    hasEmptied ||= amount === remaining;
  }
  const rounds =
    first.length === 0 ? [isDrawn] : [(lot: Lot) => isDrawn(lot) && first.includes(lot.id), isDrawn];
  for (const isNext of rounds) {
    for (let index = 0; index < left.length && missing > 0; index++) {
      const lot = left[index];
      if (lot !== undefined && lot.remaining > 0 && isNext(lot)) draw(lot, index);
    }
  }
  return { draws, left: hasEmptied ? left.filter(({ remaining }) => remaining > 0) : left };
}

function isUsable(lot: Lot): boolean {
  return !isPending(lot);
}

/** @throws {RangeError} The account cannot move such an amount. */
function requireAmount(amount: number, { lots }: MetricAccount): void {
  const isFit = lots === null ? Number.isFinite(amount) : Number.isSafeInteger(amount);
  if (isFit && amount >= 0) return;
  throw new RangeError(
    `Cannot move ${amount} points: expected ${lots === null ? "a finite number" : "a safe integer"} of 0 or more`,
  );
}

/** @throws {RangeError} The number is not a safe integer. */
export function requireCountable(total: number): number {
  if (Math.abs(total) <= Number.MAX_SAFE_INTEGER) return total;
  throw new RangeError("Cannot move the points as the balance would leave the range of safe integers");
}

/** @throws {RangeError} Points of the account have expired before this time: it is not settled. */
export function requireSettled({ lots }: MetricAccount, at: number): void {
  const next = lots?.[0]?.expiresAt ?? null;
  if (next !== null && next <= at) {
    throw new RangeError("Cannot move the points as the account is not settled at that time");
  }
}

/**
 * Most lots of an account, with pending ones counted separately. Further points join the lot that expires next after them, or the
 * last one, which then has the later dates of the two.
 */
const lotsMax = 500;

interface CreditOptions {
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
  const balanceAfter = requireCountable(Math.min(addDecimals(account.balance, amount), ceiling));
  const given = addDecimals(balanceAfter, -account.balance);
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

interface DebitOptions {
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
    const balanceAfter = requireCountable(Math.max(addDecimals(balance, -wanted), floor));
    const amount = addDecimals(balance, -balanceAfter);
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
