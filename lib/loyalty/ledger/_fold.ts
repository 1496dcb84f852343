/**
 * Folds the entries of one metric by what entries mean alone, without the code that made them, and tells where an entry
 * does not follow from those before it.
 */

import type { Draw, LedgerEntry, Lot } from "./types.ts";

/** Where a fold begins: with nothing forgotten, or in the middle of what happened. */
export interface FoldStart {
  /** Null: unknown, the first entry tells it. */
  readonly balance: number | null;
  readonly isComplete: boolean;
}

interface Held {
  readonly lot: Lot;
  /** Whether the fold saw all that was ever credited with the lot, and so knows what is left of it. */
  readonly isKnown: boolean;
}

/** Fractions are added in another order than they were made from, so the last digits may differ. */
const fractionsApart = 1e-9;

/** Whether two balances are the same, as far as fractions can be. */
export function isSame(a: number, b: number): boolean {
  if (Number.isInteger(a) && Number.isInteger(b)) return a === b;
  return Math.abs(a - b) <= fractionsApart * Math.max(1, Math.abs(a), Math.abs(b));
}

/** The balance and the lots of one metric, as far as entries tell them. */
export class EntryReplay {
  readonly #isComplete: boolean;
  readonly #lots = new Map<string, Held>();
  /** The sum of all changes. */
  #folded: number | null;
  /** The balance after the last entry, as that entry has it. */
  #shown: number | null;
  #faults: string[] = [];

  constructor({ balance, isComplete }: FoldStart) {
    this.#isComplete = isComplete;
    this.#folded = balance;
    this.#shown = balance;
  }

  /** Start plus credits minus debits; null where there is nothing to start from. */
  get folded(): number | null {
    return this.#folded;
  }

  /** Takes the next entry, and answers what is wrong with it. `at`: when it counts. */
  add(entry: LedgerEntry, at: number): readonly string[] {
    this.#faults = [];
    const { amount, lot, draws } = entry;
    const isFit = lot === undefined && draws === undefined ? Number.isFinite : Number.isSafeInteger;
    if (!isFit(amount) || amount <= 0) this.#faults.push(`the amount is ${amount}`);
    const outside = this.#outside();
    const change = this.#changeOf(entry);
    if (lot !== undefined) this.#creditLot(entry, lot, outside);
    for (const draw of draws ?? []) {
      if (entry.type === "debit") this.#draw(draw, entry, at);
      else this.#putBack(draw);
    }
    this.#compare(entry);
    this.#follow(entry, change);
    return this.#faults;
  }

  /** What of the lots is not as the fold has it. */
  differences(lots: readonly Lot[]): readonly string[] {
    const stored = new Map(lots.map(lot => [lot.id, lot]));
    const missing = [...this.#lots.values()].flatMap(({ lot, isKnown }) =>
      isKnown && lot.remaining > 0 && !stored.has(lot.id)
        ? [`the lot ${lot.id} is missing, which should hold ${lot.remaining}`]
        : [],
    );
    const different = lots.flatMap(lot => {
      const held = this.#lots.get(lot.id);
      if (held === undefined)
        return this.#isComplete ? [`the lot ${lot.id} holds ${lot.remaining}, which no entry credited`] : [];
      if (!held.isKnown) return [];
      if (lot.remaining === held.lot.remaining && lot.expiresAt === held.lot.expiresAt) return [];
      return [`the lot ${lot.id} holds ${lot.remaining} instead of ${held.lot.remaining}`];
    });
    return [...missing, ...different];
  }

  /** How an entry changes the balance; null where that cannot be known. */
  #changeOf({ type, status, amount, draws }: LedgerEntry): number | null {
    if (status === "pending") return 0;
    if (status === "expired") {
      const held = this.#lots.get(draws?.[0]?.lot ?? "");
      if (held === undefined && !this.#isComplete) return null;
      return held !== undefined && held.lot.activatesAt > 0 ? 0 : -amount;
    }
    return type === "credit" ? amount : -amount;
  }

  #follow({ balanceAfter, amount }: LedgerEntry, change: number | null): void {
    const before = this.#shown;
    const moved = change ?? (before === balanceAfter ? 0 : -amount);
    if (before !== null && !isSame(before + moved, balanceAfter)) {
      this.#faults.push(`the balance goes from ${before} by ${moved} to ${balanceAfter}`);
    }
    this.#folded = this.#folded === null ? balanceAfter : this.#folded + moved;
    this.#shown = balanceAfter;
  }

  /** What the lots gave or took must be in keeping with the amount: all of it, or as much as they had. */
  #compare({ type, status, amount, draws }: LedgerEntry): void {
    if (draws === undefined) return;
    const covered = draws.reduce((sum, draw) => sum + draw.amount, 0);
    const hasMore = [...this.#lots.values()].some(({ lot }) => lot.activatesAt === 0 && lot.remaining > 0);
    const isWhole = status !== "completed" || (type === "debit" && this.#isComplete && hasMore);
    if (covered > amount || (isWhole && covered !== amount)) {
      this.#faults.push(`the amount is ${amount} where the lots have ${covered}`);
    }
  }

  /** What is outside all lots; null where not all lots are known. */
  #outside(): number | null {
    if (!this.#isComplete || this.#shown === null) return null;
    let usable = 0;
    for (const { lot } of this.#lots.values()) if (lot.activatesAt === 0) usable += lot.remaining;
    return this.#shown - usable;
  }

  #creditLot({ status, amount }: LedgerEntry, lot: Lot, outside: number | null): void {
    const held = this.#lots.get(lot.id);
    const hasBecomeUsable = status === "completed" && lot.activatesAt > 0;
    const isNew = held === undefined && !hasBecomeUsable && lot.amount === amount;
    const isKnown = isNew || held?.isKnown === true;
    if (!isKnown && this.#isComplete) {
      this.#faults.push(`the lot ${lot.id} has points that no entry credited`);
    }
    if (isKnown && outside !== null) {
      const paid = status === "pending" || outside >= 0 ? 0 : Math.min(amount, -outside);
      const before = held?.lot.remaining ?? 0;
      const remaining = (hasBecomeUsable ? before : before + amount) - paid;
      if (lot.remaining !== remaining) {
        this.#faults.push(`the lot ${lot.id} holds ${lot.remaining} instead of ${remaining}`);
      }
      if (hasBecomeUsable && before !== amount) {
        this.#faults.push(`${amount} points of the lot ${lot.id} became usable instead of ${before}`);
      }
    }
    this.#hold({ lot: hasBecomeUsable ? { ...lot, activatesAt: 0 } : lot, isKnown });
  }

  #draw({ lot: id, amount }: Draw, { status }: LedgerEntry, at: number): void {
    const held = this.#lots.get(id);
    if (held === undefined) {
      if (this.#isComplete) this.#faults.push(`the lot ${id} is drawn, which holds nothing`);
      return;
    }
    const { lot, isKnown } = held;
    if (isKnown && amount > lot.remaining) {
      this.#faults.push(`the lot ${id} is drawn by ${amount}, which holds ${lot.remaining}`);
    }
    if (status === "completed" && lot.activatesAt > 0)
      this.#faults.push(`the lot ${id} is drawn while pending`);
    if (status === "completed" && lot.expiresAt !== null && lot.expiresAt <= at) {
      this.#faults.push(`the lot ${id} is drawn after it expired`);
    }
    this.#hold({ lot: { ...lot, remaining: lot.remaining - amount }, isKnown });
  }

  #putBack({ lot: id, amount, of, creditedAt, expiresAt }: Draw): void {
    const held = this.#lots.get(id);
    const before = held?.lot ?? { id, amount: of, remaining: 0, creditedAt, activatesAt: 0, expiresAt };
    const lot = { ...before, remaining: before.remaining + amount, expiresAt };
    this.#hold({ lot, isKnown: held?.isKnown ?? this.#isComplete });
  }

  #hold(held: Held): void {
    const isSpent = held.lot.remaining === 0 && held.isKnown && this.#isComplete;
    if (isSpent) this.#lots.delete(held.lot.id);
    else this.#lots.set(held.lot.id, held);
  }
}
