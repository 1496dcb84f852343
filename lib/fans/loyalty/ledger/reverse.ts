import { addDecimals } from "../../../base/text/mod.ts";
import {
  debitFirst,
  debtPayment,
  drawFrom,
  isPending,
  pointsOutside,
  requireCountable,
  requireSettled,
  totalsOf,
  withLot,
} from "./movements.ts";
import type { AccountChange, Draw, LedgerMovement, Lot, MetricAccount } from "./types.ts";

/** Points that return to an expired lot last this much longer: 30 days. */
const reversalGraceMs: number = 30 * 24 * 60 * 60 * 1_000;

/** Options of {@linkcode reverseEntry}. */
export interface ReverseOptions {
  readonly at: number;
  /** Lowest balance. */
  readonly floor: number;
  /** Highest balance, pending points included. */
  readonly ceiling: number;
  /** Lets the reversal of a credit go below the floor. @default false */
  readonly allowNegative?: boolean;
  /** The time that points last which return to an expired lot. @default 30 days */
  readonly graceMs?: number;
}

/**
 * Reverses an entry. The account must be settled at that time, and the caller makes sure that an entry is reversed once.
 *
 * The points of a debit return to their lots with the dates of these, after a debt is paid. The points of a credit are taken from
 * its own lot first, and then as `debit` takes them.
 *
 * @throws {RangeError} The entry is not {@linkcode isReversible}.
 */
export function reverseEntry(
  account: MetricAccount,
  entry: LedgerMovement,
  options: ReverseOptions,
): AccountChange {
  if (!isReversible(entry)) {
    throw new RangeError("Cannot reverse points that expired, became usable or were cancelled while pending");
  }
  requireSettled(account, options.at);
  if (entry.type === "debit") return restore(account, entry, options);
  const pending = entry.status === "pending" ? pendingLot(account, entry) : undefined;
  if (pending !== undefined) return cancelPending(account, pending, entry.amount);
  const { at, floor, allowNegative = false } = options;
  const first = entry.lot === undefined ? (entry.draws ?? []).map(({ lot }) => lot) : [entry.lot.id];
  return debitFirst(account, {
    amount: entry.amount,
    at,
    floor: allowNegative ? Number.NEGATIVE_INFINITY : floor,
    first,
  });
}

/** Checks whether an entry can be reversed. Activations, expiries and cancellations of pending points cannot. */
export function isReversible({ type, status, lot }: LedgerMovement): boolean {
  if (status === "pending") return type === "credit";
  return status === "completed" && (lot?.activatesAt ?? 0) === 0;
}

function pendingLot({ lots }: MetricAccount, { lot }: LedgerMovement): Lot | undefined {
  return lots?.find(one => one.id === lot?.id && isPending(one));
}

/** Takes points of a pending lot. */
function cancelPending({ balance, lots }: MetricAccount, lot: Lot, wanted: number): AccountChange {
  const { draws, left } = drawFrom(lots ?? [], wanted, { isDrawn: ({ id }) => id === lot.id });
  const amount = Math.min(wanted, lot.remaining);
  return {
    account: { balance, lots: left },
    entry: { type: "debit", amount, balanceAfter: balance, status: "pending", draws },
  };
}

function restore(account: MetricAccount, entry: LedgerMovement, options: ReverseOptions): AccountChange {
  const { balance, lots } = account;
  if (lots === null) {
    const balanceAfter = requireCountable(Math.min(addDecimals(balance, entry.amount), options.ceiling));
    const amount = addDecimals(balanceAfter, -balance);
    if (amount <= 0) return { account, entry: null };
    return {
      account: { balance: balanceAfter, lots },
      entry: { type: "credit", amount, balanceAfter, status: "completed" },
    };
  }
  const room = Math.floor(options.ceiling - balance - totalsOf(lots).pending);
  const amount = Math.min(entry.amount, room);
  if (amount <= 0) return { account, entry: null };
  const balanceAfter = requireCountable(balance + amount);
  const debt = debtPayment(amount, pointsOutside(balance, lots));
  const { draws, restored } = putBack(lots, amount - debt, entry.draws ?? [], options);
  return {
    account: { balance: balanceAfter, lots: restored },
    entry: { type: "credit", amount, balanceAfter, status: "completed", draws },
  };
}

/** Returns points to their lots, the one drawn last first. Points from outside all lots stay outside. */
function putBack(
  lots: readonly Lot[],
  amount: number,
  drawn: readonly Draw[],
  { at, graceMs = reversalGraceMs }: ReverseOptions,
): { readonly draws: readonly Draw[]; readonly restored: readonly Lot[] } {
  const draws: Draw[] = [];
  let restored = lots;
  let left = amount;
  for (const draw of drawn.toReversed()) {
    if (left === 0) break;
    const back = Math.min(draw.amount, left);
    left -= back;
    const alive = restored.find(({ id }) => id === draw.lot);
    const isOver = draw.expiresAt !== null && draw.expiresAt <= at;
    const lot: Lot =
      alive === undefined
        ? {
            id: draw.lot,
            amount: draw.of,
            remaining: back,
            creditedAt: draw.creditedAt,
            activatesAt: 0,
            expiresAt: isOver ? at + graceMs : draw.expiresAt,
          }
        : { ...alive, remaining: alive.remaining + back };
    draws.push({ ...draw, amount: back, expiresAt: lot.expiresAt });
    restored = withLot(restored, lot);
  }
  return { draws, restored };
}
