import { drawFrom, requireAmount, requireCountable, requireSettled } from "./_lots.ts";
import type { AccountChange, MetricAccount } from "./types.ts";

/** What is debited. */
export interface DebitOptions {
  /** 0 or more. */
  readonly amount: number;
  readonly at: number;
  /** Lowest balance. */
  readonly floor: number;
}

/**
 * Takes points, as many as there are above the floor: from the lot that expires first, then the oldest, those that never
 * expire last, and then from what is outside all lots. Pending lots are not drawn. The account must be settled at that time.
 *
 * @throws {RangeError} The amount is not valid, or the balance would leave the range of safe integers.
 */
export function debit(account: MetricAccount, options: DebitOptions): AccountChange {
  requireAmount(options.amount, account);
  return take(account, { ...options, first: [] });
}

/** A debit that draws the lots named in `first` before all others. */
export function take(
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
