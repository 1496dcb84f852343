import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import type {
  AccountChange,
  LedgerEntry,
  LedgerMovement,
  MetricAccount,
} from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import { credit, debit, reverseEntry } from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import {
  type LedgerRecord,
  type LedgerState,
  reconcile,
} from "../../../../../lib/fans/loyalty/ledger/reconcile.ts";
import { settleLots } from "../../../../../lib/fans/loyalty/ledger/settle_lots.ts";
import { sampleSize } from "../../../../support/full.ts";
import { CoinLedger, type Taken } from "./_coins.ts";

const runs = sampleSize(3_000, 600);
const stepsPerRun = 40;
const graceMs = 7;

/** A reversible entry with its counterpart in the model. */
interface Past {
  readonly entry: LedgerMovement;
  readonly taken: Taken | null;
}

/** A ledger and its model, which a random run moves together. */
class Run {
  readonly random: Random;
  readonly start: number;
  readonly floor: number;
  readonly ceiling: number;
  readonly model: CoinLedger;
  readonly records: LedgerRecord[] = [];
  account: MetricAccount;
  #past: Past[] = [];

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.start = this.random.pick([0, 0, 3]);
    this.floor = this.random.pick([0, 0, -4]);
    this.ceiling = this.random.pick([25, 1_000]);
    this.model = new CoinLedger(this.start, graceMs);
    this.account = { balance: this.start, lots: [] };
  }

  get state(): LedgerState {
    const { balance, lots } = this.account;
    return { metrics: { points: balance }, lots: { points: lots ?? [] }, records: this.records.length };
  }

  step(): void {
    this.#wait(this.random.pick([0, 0, 1, 1, 2, 5, 12]));
    const choice = this.random.next();
    if (choice < 0.45) this.#credit();
    else if (choice < 0.75) this.#debit();
    else this.#reverse();
  }

  #wait(ticks: number): void {
    const at = this.model.now + ticks;
    this.model.liveUntil(at);
    const { account, entries } = settleLots(this.account, at);
    assert.deepEqual(settleLots(account, at), { account, entries: [] });
    this.account = account;
    if (entries.length > 0) this.#record(entries);
  }

  #credit(): void {
    const [at, amount] = [this.model.now, 1 + this.random.integer(9)];
    const activatesAt = this.random.chance(0.3) ? at + this.random.integer(8) : at;
    const expiresAt = this.random.chance(0.7) ? at + 1 + this.random.integer(20) : null;
    const lot = `lot-${this.records.length}`;
    const moved = credit(this.account, {
      amount,
      at,
      lotId: lot,
      activatesAt,
      expiresAt,
      ceiling: this.ceiling,
    });
    const given = this.model.credit(amount, { lot, activatesAt, expiresAt }, this.ceiling);
    assert.equal(moved.entry?.amount ?? 0, given);
    this.#apply(moved, null);
  }

  #debit(): void {
    const amount = this.random.integer(12);
    const before = this.account;
    const moved = debit(before, { amount, at: this.model.now, floor: this.floor });
    const taken = this.model.debit(amount, this.floor);
    assert.equal(moved.entry?.amount ?? 0, taken.amount);
    const lots = new Map<string, number>();
    for (const { lot } of taken.coins) lots.set(lot, (lots.get(lot) ?? 0) + 1);
    assert.deepEqual(
      (moved.entry?.draws ?? []).map(({ lot, amount: drawn }) => [lot, drawn]),
      [...lots],
    );
    if (moved.entry !== null) {
      const restored = reverseEntry(moved.account, moved.entry, { ...this.#bounds(), ceiling: 1_000_000 });
      assert.deepEqual(restored.account, before, "reversal restores balance and lots exactly");
    }
    this.#apply(moved, taken);
  }

  #bounds(): { at: number; floor: number; ceiling: number; graceMs: number } {
    return { at: this.model.now, floor: this.floor, ceiling: this.ceiling, graceMs };
  }

  #reverse(): void {
    const index = this.random.integer(this.#past.length);
    const past = this.#past[index];
    if (past === undefined) return;
    this.#past = this.#past.filter(one => one !== past);
    const { entry, taken } = past;
    const allowNegative = this.random.chance(0.5);
    const floor = allowNegative ? Number.NEGATIVE_INFINITY : this.floor;
    const moved = reverseEntry(this.account, entry, { ...this.#bounds(), floor });
    if (taken !== null) {
      assert.equal(moved.entry?.amount ?? 0, this.model.restore(taken, this.ceiling));
      this.#apply(moved, null, { isFinal: true });
      return;
    }
    const lot = entry.lot?.id ?? "";
    const isStillPending = this.model.coins.some(coin => coin.lot === lot && !coin.usable);
    if (isStillPending) {
      assert.equal(moved.entry?.amount, this.model.cancel(lot));
      this.#apply(moved, null, { isFinal: true });
      return;
    }
    const back = this.model.debit(entry.amount, floor, lot);
    assert.equal(moved.entry?.amount ?? 0, back.amount);
    this.#apply(moved, back, { isFinal: false });
  }

  #apply({ account, entry }: AccountChange, taken: Taken | null, { isFinal = false } = {}): void {
    this.account = account;
    if (entry === null) return;
    this.#record([entry]);
    if (!isFinal) this.#past.push({ entry, taken });
  }

  #record(movements: readonly LedgerMovement[]): void {
    const entries = movements.map((movement): LedgerEntry => ({ ...movement, metricId: "points" }));
    const id = `${this.records.length}-0`;
    this.records.push({ id, at: this.model.now, config: "1", transactions: [{ entries }] });
  }
}

function assertAlike({ account, model }: Run, where: string): void {
  const lots = account.lots ?? [];
  assert.equal(account.balance, model.balance, where);
  const shown = lots.map(({ id, remaining, expiresAt }) => [id, { remaining, expiresAt }]);
  assert.deepEqual(Object.fromEntries(shown), model.lots(), where);
  assert.ok(
    lots.every(({ remaining, amount }) => remaining > 0 && remaining <= amount),
    where,
  );
}

function conserved({ records, start }: Run): number {
  return records
    .flatMap(({ transactions }) => transactions.flatMap(({ entries }) => entries))
    .reduce((sum, { type, amount, status, balanceAfter }) => {
      const isInBalance = status === "completed" || (status === "expired" && balanceAfter !== sum);
      return isInBalance ? sum + (type === "credit" ? amount : -amount) : sum;
    }, start);
}

describe("the ledger compared with a model of single points", () => {
  it(`agrees with it in ${runs} random runs, and reconciles every balance and lot`, () => {
    for (let seed = 1; seed <= runs; seed++) {
      const run = new Run(seed);
      for (let step = 0; step < stepsPerRun; step++) {
        run.step();
        assertAlike(run, `seed ${seed}, step ${step}`);
      }
      assert.equal(conserved(run), run.account.balance, `seed ${seed}: credits - debits = balance`);
      const defaultOf = () => run.start;
      assert.deepEqual(reconcile(run.state, run.records, defaultOf).faults, [], `seed ${seed}`);
      const left = run.records.slice(1 + run.random.integer(run.records.length));
      assert.deepEqual(reconcile(run.state, left, defaultOf).faults, [], `seed ${seed}, oldest dropped`);
    }
  });

  it(`finds every changed or lost record, balance and lot in ${runs} random runs`, () => {
    for (let seed = 1; seed <= runs; seed++) {
      const run = new Run(seed);
      for (let step = 0; step < stepsPerRun; step++) run.step();
      if (run.records.length === 0) continue;
      const { state, records } = falsified(run);
      const proof = reconcile(state, records, () => run.start);
      assert.equal(proof.ok, false, `seed ${seed}`);
    }
  });
});

/** The state and the records of a run, with one lie. */
function falsified(run: Run): { readonly state: LedgerState; readonly records: readonly LedgerRecord[] } {
  const { random, records, state } = run;
  const lie = random.integer(4);
  if (lie === 0) {
    return { state: { ...state, metrics: { points: run.account.balance + 1 } }, records };
  }
  const [lot, ...lots] = run.account.lots ?? [];
  if (lie === 1 && lot !== undefined) {
    const changed = { ...lot, remaining: lot.remaining + 1 };
    return { state: { ...state, lots: { points: [changed, ...lots] } }, records };
  }
  const index = random.integer(records.length);
  const chosen = records[index];
  const [entry, ...others] = chosen?.transactions[0]?.entries ?? [];
  assert.ok(chosen !== undefined && entry !== undefined);
  if (lie === 2) {
    const without = records.filter(record => record !== chosen);
    return { state: { ...state, records: without.length }, records: without };
  }
  const changed = { ...entry, amount: entry.amount + 1 };
  const transactions = [{ entries: [changed, ...others] }];
  return { state, records: records.with(index, { ...chosen, transactions }) };
}
