import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LedgerEntry, Lot } from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import {
  type LedgerRecord,
  type LedgerState,
  reconcile,
} from "../../../../../lib/fans/loyalty/ledger/reconcile.ts";

function record(id: string, ...entries: readonly LedgerEntry[]): LedgerRecord {
  return { id, at: 5, config: "1", transactions: [{ entries }] };
}

function gain(metricId: string, amount: number, balanceAfter: number): LedgerEntry {
  return { metricId, type: "credit", amount, balanceAfter, status: "completed" };
}

const lot: Lot = { id: "a", amount: 4, remaining: 4, creditedAt: 1, activatesAt: 0, expiresAt: 9 };
const credited: LedgerEntry = { ...gain("points", 4, 4), lot };
const defaultOf = (): number => 0;

function faultsOf(state: LedgerState, records: readonly LedgerRecord[]): readonly string[] {
  return reconcile(state, records, defaultOf).faults.map(
    ({ metricId, recordId, detail }) => `${metricId} ${recordId}: ${detail}`,
  );
}

describe("reconciliation", () => {
  it("returns balance, sum and completeness of every metric", () => {
    const state = { metrics: { xp: 3, coins: 7 }, lots: {}, records: 2 };
    const records = [record("1", gain("xp", 1, 1), gain("coins", 7, 7)), record("2", gain("xp", 2, 3))];
    assert.deepEqual(reconcile(state, records, defaultOf), {
      ok: true,
      metrics: [
        { metricId: "coins", balance: 7, folded: 7, isComplete: true },
        { metricId: "xp", balance: 3, folded: 3, isComplete: true },
      ],
      faults: [],
    });
  });

  it("starts at the first remaining entry after dropped records", () => {
    const state = { metrics: { xp: 30, old: 4 }, lots: { xp: [lot] }, records: 9 };
    const proof = reconcile(
      state,
      [record("8", gain("xp", 2, 28)), record("9", gain("xp", 2, 30))],
      defaultOf,
    );
    assert.equal(proof.ok, true);
    assert.deepEqual(proof.metrics, [
      { metricId: "old", balance: 4, folded: null, isComplete: false },
      { metricId: "xp", balance: 30, folded: 30, isComplete: false },
    ]);
  });

  it("starts at the default of the first configuration, or at the first entry if that is unknown", () => {
    const state = { metrics: { xp: 7 }, lots: {}, records: 1 };
    const records = [record("1", gain("xp", 2, 7))];
    const asked: string[] = [];
    const ask = (metricId: string, config: string): number => {
      asked.push(`${metricId} ${config}`);
      return 5;
    };
    assert.equal(reconcile(state, records, ask).ok, true);
    assert.deepEqual(asked, ["xp 1"]);
    assert.equal(reconcile(state, records, () => null).ok, true);
    assert.equal(reconcile(state, records, () => 4).ok, false);
  });

  it("names the record of a fault, and continues after it", () => {
    const state = { metrics: { xp: 9 }, lots: {}, records: 3 };
    const records = [
      record("1", gain("xp", 2, 2)),
      record("2", gain("xp", 3, 6)),
      record("3", gain("xp", 3, 9)),
    ];
    assert.deepEqual(faultsOf(state, records), [
      "xp 2: the balance goes from 2 by 3 to 6",
      "xp null: the balance is 9 where the entries make it 8",
    ]);
  });

  it("finds values and lots that no entry explains", () => {
    const stray = { ...lot, id: "stray" };
    const state = { metrics: { points: 4, gold: 1 }, lots: { points: [stray], gold: [] }, records: 1 };
    assert.deepEqual(faultsOf(state, [record("1", credited)]), [
      "gold null: no entry explains the stored value",
      "points null: the lot a is missing, which should hold 4",
      "points null: the lot stray holds 4, which no entry credited",
    ]);
    assert.deepEqual(faultsOf({ metrics: {}, lots: {}, records: 1 }, [record("1", gain("xp", 1, 1))]), [
      "xp null: no balance is stored where the entries make it 1",
    ]);
  });

  it("finds draws that the lots cannot give", () => {
    const draw = { lot: "a", amount: 5, of: 4, creditedAt: 1, expiresAt: 9 };
    const spent: LedgerEntry = {
      metricId: "points",
      type: "debit",
      amount: 4,
      balanceAfter: 0,
      status: "completed",
      at: 9,
      draws: [draw, { ...draw, lot: "b", amount: 1 }],
    };
    const state = { metrics: { points: 0 }, lots: {}, records: 2 };
    assert.deepEqual(faultsOf(state, [record("1", credited), record("2", spent)]), [
      "points 2: the lot a is drawn by 5, which holds 4",
      "points 2: the lot a is drawn after it expired",
      "points 2: the lot b is drawn, which holds nothing",
      "points 2: the amount is 4 where the lots have 6",
    ]);
  });

  it("finds draws from a pending lot, invalid amounts, and lots with unexplained points", () => {
    const pending: LedgerEntry = {
      ...credited,
      status: "pending",
      balanceAfter: 0,
      lot: { ...lot, activatesAt: 8 },
    };
    const early: LedgerEntry = {
      metricId: "points",
      type: "debit",
      amount: 4,
      balanceAfter: -4,
      status: "completed",
      draws: [{ lot: "a", amount: 4, of: 4, creditedAt: 1, expiresAt: 9 }],
    };
    const nothing = { ...gain("points", 0, -4) };
    const inflated: LedgerEntry = { ...gain("points", 1, -3), lot: { ...lot, id: "c", remaining: 3 } };
    const state = {
      metrics: { points: -3 },
      lots: { points: [{ ...lot, id: "c", remaining: 3 }] },
      records: 4,
    };
    assert.deepEqual(
      faultsOf(state, [
        record("1", pending),
        record("2", early),
        record("3", nothing),
        record("4", inflated),
      ]),
      [
        "points 2: the lot a is drawn while pending",
        "points 3: the amount is 0",
        "points 4: the lot c has points that no entry credited",
      ],
    );
  });

  it("tolerates the rounding of fractions added in another order", () => {
    const state = { metrics: { xp: 0.1 + 0.2 + 0.3 }, lots: {}, records: 1 };
    assert.equal(reconcile(state, [record("1", gain("xp", 0.6, 0.6))], defaultOf).ok, true);
    assert.equal(
      reconcile({ ...state, metrics: { xp: 0.61 } }, [record("1", gain("xp", 0.6, 0.6))], defaultOf).ok,
      false,
    );
  });
});
