import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import type { ScoreUpdate } from "../../../../../lib/fans/leaderboards/scores/score_delivery.ts";
import type { LedgerEntry, Lot } from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import type { HistoryRecord, Transaction } from "../../../../../lib/fans/loyalty/user/history.ts";
import { emptyState, type UserState } from "../../../../../lib/fans/loyalty/user/state.ts";
import {
  parseRecord,
  parseState,
  printRecord,
  printState,
  StoredStateReader,
} from "../../../../../lib/fans/loyalty/user/stored_state.ts";

const runs = 2_000;
const names = ["a", "*", "points", "x/y", "$&", "～😀", '"'];
const projects = [null, "p", "0b81d8f2-3f2a-4c67-9d43-9d0a4a9d7d01", "*", "$1"];

function some<T>(random: Random, make: () => T): T[] {
  return Array.from({ length: random.integer(4) }, make);
}

function record<T>(random: Random, make: () => T): Record<string, T> {
  return Object.fromEntries(some(random, () => [random.pick(names), make()]));
}

function lot(random: Random): Lot {
  return {
    id: random.pick(names),
    amount: 3,
    remaining: random.integer(4),
    of: 3,
    creditedAt: random.integer(9),
    activatesAt: random.integer(9),
    expiresAt: random.chance(0.5) ? null : random.integer(9),
  } as unknown as Lot;
}

function update(random: Random, { projectId, changedAt, revision }: UserState): ScoreUpdate {
  const target = `desc/${random.chance(0.8) ? projectId : "other"}/${random.pick(names)}/${projectId}`;
  const isNew = random.chance(0.6);
  return {
    target: random.chance(0.1) ? "" : target,
    score: random.integer(100) - 50.5,
    at: isNew ? changedAt : random.integer(9),
    asOf: isNew ? revision : random.integer(9),
  };
}

function randomState(random: Random): UserState {
  const empty = emptyState(random.pick(projects));
  const base = { ...empty, revision: random.integer(9), changedAt: random.integer(9), config: "1" };
  if (random.chance(0.1)) return base;
  const { integer, chance, pick } = random;
  return {
    ...base,
    metrics: record(random, () => integer(9) - 4),
    lots: record(random, () => some(random, () => lot(random))),
    inventory: record(random, () => some(random, () => pick(names))),
    milestones: record(random, () => ({ milestoneId: pick(names), threshold: integer(9) })),
    counters: record(random, () => (chance(0.5) ? { total: integer(9) } : { last: 1, length: 2 })),
    orphanedCounters: record(random, () => integer(9)),
    lifetime: record(random, () => [integer(9), integer(9)] as const),
    dueAt: chance(0.5) ? null : integer(9),
    chainedExpiries: integer(3),
    records: integer(9),
    gifts: some(random, () => ({ id: "1.1", ruleId: pick(names), userId: pick(names), rewards: [] })),
    undelivered: some(random, () => update(random, base)),
    sums: record(random, () => (chance(0.5) ? [integer(9) / 2] : [integer(9), integer(9)])),
    onceMarks: { generation: integer(3), count: integer(3) },
  };
}

function entry(random: Random): LedgerEntry {
  const { pick, integer, chance } = random;
  return {
    metricId: pick(names),
    type: chance(0.5) ? "credit" : "debit",
    amount: 1 + integer(9),
    balanceAfter: integer(9) - 4,
    status: chance(0.7) ? "completed" : pick(["pending", "expired"]),
    ...(chance(0.2) ? { at: integer(9) } : {}),
    ...(chance(0.2) ? { lot: lot(random) } : {}),
    ...(chance(0.2) ? { draws: [] } : {}),
  };
}

function transaction(random: Random): Transaction {
  const { pick, integer, chance } = random;
  const item = (): { setId: string; itemId: string } => ({ setId: pick(names), itemId: pick(names) });
  return {
    type: pick(["actionRewarded", "reversed"]),
    ...(chance(0.2) ? { at: integer(9) } : {}),
    payload: {
      ...(chance(0.3) ? { challengeId: pick(names) } : {}),
      ...(chance(0.3) ? { reason: pick(names) } : {}),
      metricChanges: record(random, () => ({ oldValue: integer(9), newValue: integer(9) })),
      inventoryChanges: { received: some(random, item), lost: some(random, item) },
      milestoneChanges: record(random, () => ({ oldValue: "", newValue: pick(names) })),
    },
    entries: some(random, () => entry(random)),
  };
}

function randomRecord(random: Random): HistoryRecord {
  const { pick, integer, chance } = random;
  const data = record(random, () => pick<string | number | boolean>(["", 0, false, "x"]));
  return {
    kind: pick(["action", "settlement", "grant", "reversal"]),
    at: integer(9),
    config: pick(names),
    ...(chance(0.5)
      ? { action: { name: pick(names), data, ...(chance(0.5) ? { id: pick(names) } : {}) } }
      : {}),
    ...(chance(0.3) ? { grant: { rewards: [], reason: pick(names) } } : {}),
    ...(chance(0.3) ? { reversalOf: pick(names) } : {}),
    transactions: some(random, () => transaction(random)),
  };
}

describe("stored states and records", () => {
  it("return the state that was written", () => {
    const random = createRandom(1);
    for (let run = 0; run < runs; run++) {
      const state = randomState(random);
      assert.deepEqual(parseState(printState(state)), state);
    }
  });

  it("return single members without parsing, in any order", () => {
    const random = createRandom(3);
    for (let run = 0; run < runs; run++) {
      const state = randomState(random);
      const text = printState(state);
      const { dueAt, ...others } = JSON.parse(text);
      const later = JSON.stringify({ ...others, ...(dueAt === null ? {} : { dueAt }) });
      const { dueAt: due, changedAt, metrics, inventory, challenges } = state;
      for (const seen of [new StoredStateReader(text), new StoredStateReader(later)]) {
        assert.deepEqual([seen.dueAt, seen.changedAt], [due, changedAt]);
        assert.deepEqual([seen.metrics, seen.inventory, seen.challenges], [metrics, inventory, challenges]);
      }
    }
  });

  it("return the history record that was written", () => {
    const random = createRandom(2);
    for (let run = 0; run < runs; run++) {
      const one = randomRecord(random);
      assert.deepEqual(parseRecord(printRecord(one)), one);
    }
  });

  it("leave out empty members, and shorten plain ones", () => {
    const empty = emptyState(null);
    assert.equal(printState(empty), '{"revision":0,"changedAt":0,"dueAt":null,"records":0}');
    const target = "desc/my-project//overall";
    const undelivered = [{ target, score: 3, at: 7, asOf: 1 }];
    const state = { ...empty, projectId: "my-project", revision: 1, changedAt: 7, undelivered };
    assert.match(printState(state), /"undelivered":\[\["desc\/\*\/\/overall",3\]\]/);
    const entries: LedgerEntry[] = [
      { metricId: "points", type: "debit", amount: 3, balanceAfter: 0, status: "completed" },
    ];
    const payload = {
      metricChanges: { points: { oldValue: 3, newValue: 0 } },
      inventoryChanges: { received: [], lost: [] },
      milestoneChanges: {},
    };
    const transactions = [{ type: "adjusted", payload, entries }];
    assert.equal(
      printRecord({ kind: "grant", at: 7, config: "1", transactions }),
      '{"kind":"grant","at":7,"config":"1","transactions":[{"type":"adjusted","metrics":{"points":[3,0]},"entries":[["points",-3,0]]}]}',
    );
  });
});
