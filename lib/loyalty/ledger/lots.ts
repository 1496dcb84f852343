/** Lists of lots, in the order in which they are drawn. */

import type { Draw, Lot, MetricAccount } from "./types.ts";

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
export interface Totals {
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

/** Takes an amount, or as much as they have, from lots in their order, and from those of some ids first. */
export function drawFrom(
  lots: readonly Lot[],
  wanted: number,
  { first = [], isDrawn = isUsable }: DrawOptions = {},
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

/** Options of {@linkcode drawFrom}. */
export interface DrawOptions {
  /** Ids of the lots to draw first. @default none */
  readonly first?: readonly string[];
  /** @default usable lots */
  readonly isDrawn?: (lot: Lot) => boolean;
}

function isUsable(lot: Lot): boolean {
  return !isPending(lot);
}

/** @throws {RangeError} The account cannot move such an amount. */
export function requireAmount(amount: number, { lots }: MetricAccount): void {
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
