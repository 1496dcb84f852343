/** The effects of time on an account, and its balances at a time. */

import type { AccountChange, LedgerMovement, Lot, MetricAccount } from "./movements.ts";
import { debtPayment, isPending, pointsOutside, totalsOf, withLot } from "./movements.ts";

/** Points that expire within 30 days expire soon. */
const expiringSoonMs: number = 30 * 24 * 60 * 60 * 1_000;
const expiringSoonMax = 10;

interface DueLot {
  readonly at: number;
  readonly type: "activation" | "expiry";
  readonly lotId: string;
}

/**
 * Lets time pass until `at`, inclusive: pending lots become usable and lots expire, each at its own instant. Settling twice
 * equals settling once at the later time. An account with nothing due is returned as it is.
 */
export function settleLots(
  account: MetricAccount,
  at: number,
): {
  readonly account: MetricAccount;
  /** In the order of `at`. */
  readonly entries: readonly (LedgerMovement & { readonly at: number })[];
} {
  const due = dueUntil(account.lots ?? [], at);
  if (due.length === 0) return { account, entries: [] };
  let now = account;
  const entries: (LedgerMovement & { readonly at: number })[] = [];
  for (const { at: instant, type, lotId } of due) {
    const lot = now.lots?.find(({ id }) => id === lotId);
    // A lot may expire before its activation, or have paid a debt with all its points.
    if (lot === undefined) continue;
    const { account: next, entry } = type === "activation" ? activate(now, lot) : expire(now, lot);
    now = next;
    entries.push({ ...entry, at: instant });
  }
  return { account: now, entries };
}

/** Returns when the account next needs settling; null: never. */
export function nextSettlement({ lots }: MetricAccount): number | null {
  const instants = (lots ?? []).flatMap(({ activatesAt, expiresAt }) => [
    ...(activatesAt > 0 ? [activatesAt] : []),
    ...(expiresAt === null ? [] : [expiresAt]),
  ]);
  return instants.length === 0 ? null : Math.min(...instants);
}

/** Lists activations and expiries by time. At one instant activations come first, and lots in the order of drawing. */
function dueUntil(lots: readonly Lot[], at: number): DueLot[] {
  const activations = lots
    .filter(lot => isPending(lot) && lot.activatesAt <= at)
    .map((lot): DueLot => ({ at: lot.activatesAt, type: "activation", lotId: lot.id }));
  const expiries = lots.flatMap(({ id, expiresAt }): DueLot[] =>
    expiresAt !== null && expiresAt <= at ? [{ at: expiresAt, type: "expiry", lotId: id }] : [],
  );
  return [...activations, ...expiries].sort((a, b) => a.at - b.at);
}

interface Step {
  readonly account: MetricAccount;
  readonly entry: LedgerMovement;
}

function activate({ balance, lots }: MetricAccount, pending: Lot): Step {
  const amount = pending.remaining;
  const paid = debtPayment(amount, pointsOutside(balance, lots ?? []));
  const lot = { ...pending, remaining: amount - paid };
  const balanceAfter = balance + amount;
  return {
    account: { balance: balanceAfter, lots: withLot(lots ?? [], { ...lot, activatesAt: 0 }) },
    entry: { type: "credit", amount, balanceAfter, status: "completed", lot },
  };
}

function expire({ balance, lots }: MetricAccount, lot: Lot): Step {
  const { id, amount: of, remaining: amount, creditedAt, expiresAt } = lot;
  const balanceAfter = isPending(lot) ? balance : balance - amount;
  return {
    account: { balance: balanceAfter, lots: withLot(lots ?? [], { ...lot, remaining: 0 }) },
    entry: {
      type: "debit",
      amount,
      balanceAfter,
      status: "expired",
      draws: [{ lot: id, amount, of, creditedAt, expiresAt }],
    },
  };
}

/** Lets all usable lots expire at once. Points outside lots, and pending ones, stay. */
export function expireUsable(account: MetricAccount): AccountChange {
  const { balance, lots } = account;
  const usable = (lots ?? []).filter(lot => !isPending(lot));
  const amount = totalsOf(usable).usable;
  if (amount === 0) return { account, entry: null };
  const draws = usable.map(({ id, amount: of, remaining, creditedAt, expiresAt }) => ({
    lot: id,
    amount: remaining,
    of,
    creditedAt,
    expiresAt,
  }));
  const balanceAfter = balance - amount;
  return {
    account: { balance: balanceAfter, lots: (lots ?? []).filter(isPending) },
    entry: { type: "debit", amount, balanceAfter, status: "expired", draws },
  };
}

export interface Balances {
  readonly available: number;
  readonly pending: number;
  /** Usable now and expiring within 30 days, by instant; the nearest ten. */
  readonly expiringSoon: readonly { readonly amount: number; readonly expiresAt: number }[];
}

/** Returns the balances at a time. The account may be settled at any earlier time. */
export function balancesOf(account: MetricAccount, at: number): Balances {
  if (account.lots === null || account.lots.length === 0) {
    return { available: account.balance, pending: 0, expiringSoon: [] };
  }
  const { balance, lots } = settleLots(account, at).account;
  const expiring = new Map<number, number>();
  for (const lot of lots ?? []) {
    if (lot.expiresAt === null || lot.expiresAt > at + expiringSoonMs || isPending(lot)) continue;
    expiring.set(lot.expiresAt, (expiring.get(lot.expiresAt) ?? 0) + lot.remaining);
  }
  return {
    available: balance,
    pending: totalsOf(lots ?? []).pending,
    expiringSoon: [...expiring]
      .slice(0, expiringSoonMax)
      .map(([expiresAt, amount]) => ({ amount, expiresAt })),
  };
}

/** Returns until when (Unix ms, exclusive) the balances of settled lots stay the same; infinity: forever. */
export function balancesValidUntil(lots: readonly Lot[], at: number): number {
  let until = Number.POSITIVE_INFINITY;
  for (const { activatesAt, expiresAt } of lots) {
    if (activatesAt > at) until = Math.min(until, activatesAt);
    if (expiresAt === null) continue;
    const soonAt = expiresAt - expiringSoonMs;
    until = Math.min(until, soonAt > at ? soonAt : expiresAt);
  }
  return until;
}
