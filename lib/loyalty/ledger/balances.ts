import { isPending, totalsOf } from "./_lots.ts";
import { settleLots } from "./settle.ts";
import type { Lot, MetricAccount } from "./types.ts";

/** Points that expire within this time do so soon, in ms: 30 days. */
export const expiringSoonMs: number = 30 * 24 * 60 * 60 * 1_000;
/** Most instants that are told of points which expire soon. */
export const expiringSoonMax = 10;

/** What a user has of a metric. */
export interface Balances {
  /** What can be spent now. */
  readonly available: number;
  /** What will become usable. */
  readonly pending: number;
  /** What can be spent now and expires soon, by the instant at which it does; the nearest first. */
  readonly expiringSoon: readonly { readonly amount: number; readonly expiresAt: number }[];
}

/** The balances at a time, whenever the account was settled before. */
export function balancesOf(account: MetricAccount, at: number): Balances {
  if (account.lots === null || account.lots.length === 0) return withoutLots(account);
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

function withoutLots({ balance }: MetricAccount): Balances {
  return { available: balance, pending: 0, expiringSoon: [] };
}

/** Until when (Unix ms, exclusive) the balances of lots that are settled stay as they are; infinity: nothing of it is up to time. */
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
