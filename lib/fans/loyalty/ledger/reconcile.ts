/** Reconciliation of stored balances and lots with the entries of the ledger. */

import type { Draw, LedgerEntry, Lot } from "./movements.ts";

export interface LedgerRecord {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  /** Version of the configuration that decided. */
  readonly config: string;
  readonly transactions: readonly { readonly entries: readonly LedgerEntry[] }[];
}

export interface LedgerState {
  readonly metrics: Readonly<Record<string, number>>;
  readonly lots: Readonly<Record<string, readonly Lot[]>>;
  /** Number of records ever written, of which the oldest may have been dropped. */
  readonly records: number;
}

export interface Reconciliation {
  /** True without faults. */
  readonly ok: boolean;
  readonly metrics: readonly {
    readonly metricId: string;
    /** The stored balance; null: none, the metric has its default value. */
    readonly balance: number | null;
    /** The sum of the entries; null: there are none. */
    readonly folded: number | null;
    /** True if no record of the history was dropped. */
    readonly isComplete: boolean;
  }[];
  readonly faults: readonly {
    readonly metricId: string;
    /** The contradicting record; null: the stored state. */
    readonly recordId: string | null;
    readonly detail: string;
  }[];
}

/**
 * Checks that the balances and lots of a user are the sum of the user's entries. After dropped records the sum of a metric begins
 * with its first entry that is left, and older lots are trusted.
 *
 * @param records The whole history that is left, oldest first.
 * @param defaultOf Returns the default value of a metric in a version of the configuration; null: unknown, taken from the first
 *   entry.
 */
export function reconcile(
  state: LedgerState,
  records: readonly LedgerRecord[],
  defaultOf: (metricId: string, config: string) => number | null,
): Reconciliation {
  const isComplete = state.records === records.length;
  const replays = new Map<string, EntryReplay>();
  const faults: Reconciliation["faults"][number][] = [];
  for (const { id: recordId, at, config, transactions } of records) {
    for (const entry of transactions.flatMap(({ entries }) => entries)) {
      const { metricId } = entry;
      const replay =
        replays.get(metricId) ?? new EntryReplay(isComplete ? defaultOf(metricId, config) : null, isComplete);
      replays.set(metricId, replay);
      for (const detail of replay.add(entry, entry.at ?? at)) faults.push({ metricId, recordId, detail });
    }
  }
  const ids = new Set([...replays.keys(), ...Object.keys(state.metrics), ...Object.keys(state.lots)]);
  const results = [...ids]
    .sort()
    .map(metricId => reconcileMetric(metricId, state, replays.get(metricId), isComplete));
  for (const { metric, details } of results) {
    faults.push(...details.map(detail => ({ metricId: metric.metricId, recordId: null, detail })));
  }
  return { ok: faults.length === 0, metrics: results.map(({ metric }) => metric), faults };
}

function reconcileMetric(
  metricId: string,
  { metrics, lots }: LedgerState,
  replay: EntryReplay | undefined,
  isComplete: boolean,
) {
  const balance = Object.hasOwn(metrics, metricId) ? (metrics[metricId] ?? null) : null;
  const stored = Object.hasOwn(lots, metricId) ? (lots[metricId] ?? []) : [];
  const folded = replay?.sum ?? null;
  const details: string[] = [];
  if (replay === undefined && isComplete && (balance !== null || stored.length > 0))
    details.push("no entry explains the stored value");
  if (replay !== undefined) {
    if (balance === null) details.push(`no balance is stored where the entries make it ${folded}`);
    else if (folded !== null && !isSameBalance(balance, folded)) {
      details.push(`the balance is ${balance} where the entries make it ${folded}`);
    }
    details.push(...replay.differences(stored));
  }
  return { metric: { metricId, balance, folded, isComplete }, details };
}

interface TrackedLot {
  readonly lot: Lot;
  /** True if all credits of the lot were replayed, so that its remaining points are certain. */
  readonly isKnown: boolean;
}

/** Fractions are added in another order, so their last digits may differ. */
const fractionTolerance = 1e-9;

/** Checks whether two balances are equal within the precision of fractions. */
function isSameBalance(a: number, b: number): boolean {
  if (Number.isInteger(a) && Number.isInteger(b)) return a === b;
  return Math.abs(a - b) <= fractionTolerance * Math.max(1, Math.abs(a), Math.abs(b));
}

/** The balance and the lots of one metric, recomputed from entries. */
class EntryReplay {
  readonly #isComplete: boolean;
  readonly #lots = new Map<string, TrackedLot>();
  #sum: number | null;
  #balance: number | null;
  #errors: string[] = [];

  /**
   * @param balance Null: unknown until the first entry.
   * @param isComplete False after a history whose oldest records were dropped.
   */
  constructor(balance: number | null, isComplete: boolean) {
    this.#isComplete = isComplete;
    this.#sum = balance;
    this.#balance = balance;
  }

  /** Start plus credits minus debits; null without a start. */
  get sum(): number | null {
    return this.#sum;
  }

  /** Replays the next entry, and returns its errors. `at`: Unix ms. */
  add(entry: LedgerEntry, at: number): readonly string[] {
    this.#errors = [];
    const { amount, lot, draws } = entry;
    const isFit = lot === undefined && draws === undefined ? Number.isFinite : Number.isSafeInteger;
    if (!isFit(amount) || amount <= 0) this.#errors.push(`the amount is ${amount}`);
    const outside = this.#pointsOutside();
    const change = this.#balanceChange(entry);
    if (lot !== undefined) this.#creditLot(entry, lot, outside);
    for (const draw of draws ?? []) {
      if (entry.type === "debit") this.#drawLot(draw, entry, at);
      else this.#restoreLot(draw);
    }
    this.#checkDraws(entry);
    this.#checkBalance(entry, change);
    return this.#errors;
  }

  differences(lots: readonly Lot[]): readonly string[] {
    const stored = new Map(lots.map(lot => [lot.id, lot]));
    const missing = [...this.#lots.values()].flatMap(({ lot, isKnown }) =>
      isKnown && lot.remaining > 0 && !stored.has(lot.id)
        ? [`the lot ${lot.id} is missing, which should hold ${lot.remaining}`]
        : [],
    );
    const different = lots.flatMap(lot => {
      const tracked = this.#lots.get(lot.id);
      if (tracked === undefined)
        return this.#isComplete ? [`the lot ${lot.id} holds ${lot.remaining}, which no entry credited`] : [];
      if (!tracked.isKnown) return [];
      if (lot.remaining === tracked.lot.remaining && lot.expiresAt === tracked.lot.expiresAt) return [];
      return [`the lot ${lot.id} holds ${lot.remaining} instead of ${tracked.lot.remaining}`];
    });
    return [...missing, ...different];
  }

  /** Returns the change of the balance by an entry; null: unknown. */
  #balanceChange({ type, status, amount, draws }: LedgerEntry): number | null {
    if (status === "pending") return 0;
    if (status === "expired") {
      const tracked = this.#lots.get(draws?.[0]?.lot ?? "");
      if (tracked === undefined && !this.#isComplete) return null;
      return tracked !== undefined && tracked.lot.activatesAt > 0 ? 0 : -amount;
    }
    return type === "credit" ? amount : -amount;
  }

  #checkBalance({ balanceAfter, amount }: LedgerEntry, change: number | null): void {
    const before = this.#balance;
    const moved = change ?? (before === balanceAfter ? 0 : -amount);
    if (before !== null && !isSameBalance(before + moved, balanceAfter)) {
      this.#errors.push(`the balance goes from ${before} by ${moved} to ${balanceAfter}`);
    }
    this.#sum = this.#sum === null ? balanceAfter : this.#sum + moved;
    this.#balance = balanceAfter;
  }

  /** The draws of an entry must add up to its amount, unless the lots had less. */
  #checkDraws({ type, status, amount, draws }: LedgerEntry): void {
    if (draws === undefined) return;
    const covered = draws.reduce((sum, draw) => sum + draw.amount, 0);
    const hasMore = [...this.#lots.values()].some(({ lot }) => lot.activatesAt === 0 && lot.remaining > 0);
    const isWhole = status !== "completed" || (type === "debit" && this.#isComplete && hasMore);
    if (covered > amount || (isWhole && covered !== amount)) {
      this.#errors.push(`the amount is ${amount} where the lots have ${covered}`);
    }
  }

  /** Returns the points outside all lots; null: not all lots are known. */
  #pointsOutside(): number | null {
    if (!this.#isComplete || this.#balance === null) return null;
    let usable = 0;
    for (const { lot } of this.#lots.values()) if (lot.activatesAt === 0) usable += lot.remaining;
    return this.#balance - usable;
  }

  #creditLot({ status, amount }: LedgerEntry, lot: Lot, outside: number | null): void {
    const tracked = this.#lots.get(lot.id);
    const hasBecomeUsable = status === "completed" && lot.activatesAt > 0;
    const isNew = tracked === undefined && !hasBecomeUsable && lot.amount === amount;
    const isKnown = isNew || tracked?.isKnown === true;
    if (!isKnown && this.#isComplete) {
      this.#errors.push(`the lot ${lot.id} has points that no entry credited`);
    }
    if (isKnown && outside !== null) {
      const paid = status === "pending" || outside >= 0 ? 0 : Math.min(amount, -outside);
      const before = tracked?.lot.remaining ?? 0;
      const remaining = (hasBecomeUsable ? before : before + amount) - paid;
      if (lot.remaining !== remaining) {
        this.#errors.push(`the lot ${lot.id} holds ${lot.remaining} instead of ${remaining}`);
      }
      if (hasBecomeUsable && before !== amount) {
        this.#errors.push(`${amount} points of the lot ${lot.id} became usable instead of ${before}`);
      }
    }
    this.#track({ lot: hasBecomeUsable ? { ...lot, activatesAt: 0 } : lot, isKnown });
  }

  #drawLot({ lot: id, amount }: Draw, { status }: LedgerEntry, at: number): void {
    const tracked = this.#lots.get(id);
    if (tracked === undefined) {
      if (this.#isComplete) this.#errors.push(`the lot ${id} is drawn, which holds nothing`);
      return;
    }
    const { lot, isKnown } = tracked;
    if (isKnown && amount > lot.remaining) {
      this.#errors.push(`the lot ${id} is drawn by ${amount}, which holds ${lot.remaining}`);
    }
    if (status === "completed" && lot.activatesAt > 0)
      this.#errors.push(`the lot ${id} is drawn while pending`);
    if (status === "completed" && lot.expiresAt !== null && lot.expiresAt <= at) {
      this.#errors.push(`the lot ${id} is drawn after it expired`);
    }
    this.#track({ lot: { ...lot, remaining: lot.remaining - amount }, isKnown });
  }

  #restoreLot({ lot: id, amount, of, creditedAt, expiresAt }: Draw): void {
    const tracked = this.#lots.get(id);
    const before = tracked?.lot ?? { id, amount: of, remaining: 0, creditedAt, activatesAt: 0, expiresAt };
    const lot = { ...before, remaining: before.remaining + amount, expiresAt };
    this.#track({ lot, isKnown: tracked?.isKnown ?? this.#isComplete });
  }

  #track(tracked: TrackedLot): void {
    const isSpent = tracked.lot.remaining === 0 && tracked.isKnown && this.#isComplete;
    if (isSpent) this.#lots.delete(tracked.lot.id);
    else this.#lots.set(tracked.lot.id, tracked);
  }
}
