/** Lists of lots in the order in which they are drawn. */

import type { Account, Draw, Lot } from "./types.ts";

/** First-expiring first, then the oldest; those that never expire last. */
export function compareLots(a: Lot, b: Lot): number {
  const [first, second] = [a.expiresAt ?? Number.POSITIVE_INFINITY, b.expiresAt ?? Number.POSITIVE_INFINITY];
  if (first !== second) return first < second ? -1 : 1;
  if (a.creditedAt !== b.creditedAt) return a.creditedAt - b.creditedAt;
  return a.id < b.id ? -1 : 1;
}

/** Whether a lot cannot be drawn yet. */
export function isPending({ activatesAt }: Lot): boolean {
  return activatesAt > 0;
}

/** The list with this lot in its place, instead of the one of its id; without it where nothing is left of it. */
export function withLot(lots: readonly Lot[], lot: Lot): readonly Lot[] {
  const others = lots.filter(({ id }) => id !== lot.id);
  if (lot.remaining === 0) return others;
  const place = others.findIndex(other => compareLots(lot, other) < 0);
  return place === -1 ? [...others, lot] : [...others.slice(0, place), lot, ...others.slice(place)];
}

/** What the usable or the pending lots hold. */
export function totalOf(lots: readonly Lot[], which: "usable" | "pending"): number {
  return lots.reduce((sum, lot) => (isPending(lot) === (which === "pending") ? sum + lot.remaining : sum), 0);
}

/** What the balance has outside all lots; negative: a debt. */
export function outsideOf(balance: number, lots: readonly Lot[]): number {
  return balance - totalOf(lots, "usable");
}

/** What of an amount pays a debt. */
export function towardsDebt(amount: number, outside: number): number {
  return outside < 0 ? Math.min(amount, -outside) : 0;
}

/** Takes an amount, or as much as there is, from the given lots in their order. */
export function drawFrom(
  from: readonly Lot[],
  wanted: number,
): { readonly draws: readonly Draw[]; readonly drawn: number } {
  const draws: Draw[] = [];
  let drawn = 0;
  for (const { id, amount: of, remaining, creditedAt, expiresAt } of from) {
    if (drawn >= wanted) break;
    const amount = Math.min(remaining, wanted - drawn);
    draws.push({ lot: id, amount, of, creditedAt, expiresAt });
    drawn += amount;
  }
  return { draws, drawn };
}

/** The list after draws; emptied lots leave it. */
export function afterDraws(lots: readonly Lot[], draws: readonly Draw[]): readonly Lot[] {
  const taken = new Map(draws.map(({ lot, amount }) => [lot, amount]));
  return lots.flatMap(lot => {
    const remaining = lot.remaining - (taken.get(lot.id) ?? 0);
    if (remaining === lot.remaining) return [lot];
    return remaining === 0 ? [] : [{ ...lot, remaining }];
  });
}

/** @throws {RangeError} The amount is not one that an account with or without lots can move. */
export function requireAmount(amount: number, { lots }: Account): void {
  const isFit = lots === null ? Number.isFinite(amount) : Number.isSafeInteger(amount);
  if (isFit && amount >= 0) return;
  throw new RangeError(
    `Cannot move ${amount} points: expected ${lots === null ? "a finite number" : "a safe integer"} of 0 or more`,
  );
}

/** @throws {RangeError} The number is beyond what can be counted exactly. */
export function requireCountable(total: number): number {
  if (Math.abs(total) <= Number.MAX_SAFE_INTEGER) return total;
  throw new RangeError("Cannot move the points as the balance would leave the range of safe integers");
}

/** @throws {RangeError} Points have expired that are still in the account: it was not settled at this time. */
export function requireSettled({ lots }: Account, at: number): void {
  const next = lots?.[0]?.expiresAt ?? null;
  if (next !== null && next <= at) {
    throw new RangeError("Cannot move the points as the account is not settled at that time");
  }
}
