/** Credits and debits of an account, and its lots in the order in which they are drawn. */

import { addDecimals } from "../../../base/text/mod.ts";

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

interface Totals {
  readonly usable: number;
  readonly pending: number;
  readonly usableLots: number;
  readonly pendingLots: number;
}

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

export function debtPayment(amount: number, outside: number): number {
  return outside < 0 ? Math.min(amount, -outside) : 0;
}

/** Takes an amount, or as much as they have, from usable lots in their order, and from those of some ids first. */
function drawFrom(
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
function requireCountable(total: number): number {
  if (Math.abs(total) <= Number.MAX_SAFE_INTEGER) return total;
  throw new RangeError("Cannot move the points as the balance would leave the range of safe integers");
}

/** @throws {RangeError} Points of the account have expired before this time: it is not settled. */
function requireSettled({ lots }: MetricAccount, at: number): void {
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

function creditPlain(
  account: MetricAccount,
  { amount, ceiling }: Pick<CreditOptions, "amount" | "ceiling">,
): AccountChange {
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
function debitFirst(
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

/** Points that were credited together, and become usable and expire together. */
export interface Lot {
  readonly id: string;
  readonly amount: number;
  readonly remaining: number;
  /** Of lots that expire together, the older one is drawn first. */
  readonly creditedAt: number;
  /** When the lot becomes usable; 0 once it is. A pending lot counts in no balance. */
  readonly activatesAt: number;
  /** When the points left expire, exclusive; null: never. */
  readonly expiresAt: number | null;
}

/** Points that an entry took from a lot or returned to it, with all that restores a lot which became empty. */
export interface Draw {
  readonly lot: string;
  readonly amount: number;
  readonly of: number;
  readonly creditedAt: number;
  /** Expiry of the lot; for points returned to an expired lot, the end of their grace. */
  readonly expiresAt: number | null;
}

export interface LedgerMovement {
  readonly type: "credit" | "debit";
  /** Greater than 0. */
  readonly amount: number;
  readonly balanceAfter: number;
  /**
   * `pending`: the points are not usable yet, so the balance stays. `expired`: the points were lost; the balance stays if they
   * were still pending.
   */
  readonly status: "completed" | "pending" | "expired";
  /** Unix ms, where it differs from the time of its record, as in settlements. */
  readonly at?: number;
  /**
   * The lot of a credit after it. In the entry of an activation `activatesAt` is the time of the activation; in other lots of
   * usable points it is 0.
   */
  readonly lot?: Lot;
  /** The lots that a debit drew, or that a reversal returned points to. The rest of the amount was outside all lots. */
  readonly draws?: readonly Draw[];
}

/** An entry of the ledger: a change of one metric. */
export interface LedgerEntry extends LedgerMovement {
  readonly metricId: string;
}

/**
 * The account of a metric. Its balance is the sum of all usable lots and of the points outside them: points from before the
 * metric kept lots, or a negative debt that the next points pay first.
 */
export interface MetricAccount {
  readonly balance: number;
  /** In the order of drawing, none empty. Null: the metric keeps no lots. */
  readonly lots: readonly Lot[] | null;
}

export interface AccountChange {
  readonly account: MetricAccount;
  /** Null: nothing changed. */
  readonly entry: LedgerMovement | null;
}

const reversalGraceMs: number = 30 * 24 * 60 * 60 * 1_000;

interface ReverseOptions {
  readonly at: number;
  readonly floor: number;
  /** Highest balance, pending points included. */
  readonly ceiling: number;
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
  const { at, floor } = options;
  const first = entry.lot === undefined ? (entry.draws ?? []).map(({ lot }) => lot) : [entry.lot.id];
  return debitFirst(account, { amount: entry.amount, at, floor, first });
}

/** Checks whether an entry can be reversed. Activations, expiries and cancellations of pending points cannot. */
export function isReversible({ type, status, lot }: LedgerMovement): boolean {
  if (status === "pending") return type === "credit";
  return status === "completed" && (lot?.activatesAt ?? 0) === 0;
}

function pendingLot({ lots }: MetricAccount, { lot }: LedgerMovement): Lot | undefined {
  return lots?.find(one => one.id === lot?.id && isPending(one));
}

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
  if (lots === null) return creditPlain(account, { amount: entry.amount, ceiling: options.ceiling });
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
