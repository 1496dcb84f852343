import { isPending, outsideOf, towardsDebt, withLot } from "./_lots.ts";
import type { LedgerMovement, Lot, MetricAccount } from "./types.ts";

/** An account as of some time, and what brought it there, in the order of `at`. */
export interface SettledAccount {
  readonly account: MetricAccount;
  readonly entries: readonly (LedgerMovement & { readonly at: number })[];
}

interface Due {
  readonly at: number;
  readonly is: "activation" | "expiry";
  readonly lotId: string;
}

/**
 * Lets time pass until `at`, inclusive: pending lots become usable and lots expire, each at its own instant. Settling twice
 * is settling once at the later time. An account with nothing due is answered as it is.
 */
export function settleLots(account: MetricAccount, at: number): SettledAccount {
  const due = dueUntil(account.lots ?? [], at);
  if (due.length === 0) return { account, entries: [] };
  let now = account;
  const entries: (LedgerMovement & { readonly at: number })[] = [];
  for (const { at: instant, is, lotId } of due) {
    const lot = now.lots?.find(({ id }) => id === lotId);
    // A lot may expire before it would have become usable, or have paid a debt with all it had.
    if (lot === undefined) continue;
    const { account: next, entry } = is === "activation" ? activate(now, lot) : expire(now, lot);
    now = next;
    entries.push({ ...entry, at: instant });
  }
  return { account: now, entries };
}

/** When the account is next to be settled; null where never. */
export function nextSettlement({ lots }: MetricAccount): number | null {
  const instants = (lots ?? []).flatMap(({ activatesAt, expiresAt }) => [
    ...(activatesAt > 0 ? [activatesAt] : []),
    ...(expiresAt === null ? [] : [expiresAt]),
  ]);
  return instants.length === 0 ? null : Math.min(...instants);
}

/** In the order of time; of one instant activations come first, and lots in the order in which they are drawn. */
function dueUntil(lots: readonly Lot[], at: number): Due[] {
  const activations = lots
    .filter(lot => isPending(lot) && lot.activatesAt <= at)
    .map((lot): Due => ({ at: lot.activatesAt, is: "activation", lotId: lot.id }));
  const expiries = lots.flatMap(({ id, expiresAt }): Due[] =>
    expiresAt !== null && expiresAt <= at ? [{ at: expiresAt, is: "expiry", lotId: id }] : [],
  );
  return [...activations, ...expiries].sort((a, b) => a.at - b.at);
}

interface Step {
  readonly account: MetricAccount;
  readonly entry: LedgerMovement;
}

function activate({ balance, lots }: MetricAccount, pending: Lot): Step {
  const amount = pending.remaining;
  const paid = towardsDebt(amount, outsideOf(balance, lots ?? []));
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
