/** Bounds of reading and caching a history. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { findReversedAction } from "../../../../lib/fans/loyalty/corrections.ts";
import type { DueUser } from "../../../../lib/fans/loyalty/due_users.ts";
import { createDueUserQueue } from "../../../../lib/fans/loyalty/due_users.ts";
import type { HistoryRecord } from "../../../../lib/fans/loyalty/user/history.ts";
import {
  findRecord,
  historyPageMax,
  readTransactions,
  readWholeHistory,
} from "../../../../lib/fans/loyalty/user/read_history.ts";
import { spaceUserPartition } from "../../../../lib/fans/loyalty/user/state.ts";
import { parseState, printRecord, printState } from "../../../../lib/fans/loyalty/user/stored_state.ts";
import { readLedger } from "../../../../lib/fans/loyalty/views/loyalty_reader.ts";
import { createProgressCache } from "../../../../lib/fans/loyalty/webhooks/progress.ts";
import { userShardOf } from "../../../../lib/fans/users/mod.ts";
import { decide, RecordCache, type Write } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ProbeStore } from "../../../support/probe_store.ts";

const registrationAttemptsMax = 4;
const registrationBatchMax = 240;
const ledgerReadMax = 250;
const ledgerRecordsMax = 1_000;
const progressesMax = 10_000;

const readBytesMax = 262_144;

const user = { organisationId: "o", userId: "u" };
const partition = spaceUserPartition(user);
const nothing = {
  metricChanges: {},
  inventoryChanges: { received: [], lost: [] },
  milestoneChanges: {},
};

/** A store in which so many records are on a user's history, each with a transaction and the data of an action. */
async function storeWith(records: number, text = ""): Promise<ProbeStore> {
  const store = new ProbeStore();
  const transactions = [{ type: "actionRewarded", payload: nothing, entries: [] }];
  const action = { name: "cheer", data: { text }, at: 1_000 };
  const record: HistoryRecord = { kind: "action", at: 1_000, config: "1", transactions, action };
  const append: Write = {
    type: "append",
    key: "history",
    value: printRecord(record),
    at: 1_000,
    maxLength: 99_999,
  };
  for (let left = records; left > 0; left -= 500) {
    await store.commit(partition, { writes: Array.from({ length: Math.min(left, 500) }, () => append) });
  }
  return store;
}

describe("a history", () => {
  it(`is answered ${historyPageMax} transactions at a time`, async () => {
    const found = async (records: number): Promise<number> =>
      (await readTransactions(await storeWith(records), partition, {})).transactions.length;
    assert.equal(await found(historyPageMax - 1), historyPageMax - 1);
    assert.equal(await found(historyPageMax), historyPageMax);
    assert.equal(await found(historyPageMax + 1), historyPageMax);
  });

  it(`is searched for entries of the ledger ${ledgerReadMax} records at a time`, async () => {
    const store = await storeWith(ledgerRecordsMax + 1);
    const page = await readLedger(store, partition, { limit: 10 });
    assert.ok(page.items.length === 0 && page.end !== null);
    const limits = store.reads.map(([query]) => (query?.type === "log" ? query.limit : 0));
    assert.equal(Math.max(...limits), ledgerReadMax);
    assert.equal(
      limits.reduce((sum, limit) => sum + limit, 0),
      ledgerRecordsMax,
    );
  });
});

describe("reads of a history with the largest records", () => {
  const recordBytes = 9_000;
  const logLimits = (store: ProbeStore): number[] =>
    store.reads.flat().flatMap(query => (query.type === "log" ? [query.limit] : []));

  it(`have replies of about ${readBytesMax} bytes`, async () => {
    const store = await storeWith(500, "x".repeat(recordBytes));
    await readTransactions(store, partition, {});
    await readLedger(store, partition, { limit: 250 });
    const states = new RecordCache({ key: "loyalty", parse: parseState, print: printState, entriesMax: 1 });
    await readWholeHistory(store, partition, states, () => {});
    assert.equal(await findRecord(store, user, { from: 0, recordsMax: 400 }, () => false), null);
    const limits = logLimits(store);
    assert.ok(Math.max(...limits) * recordBytes < readBytesMax * 1.2, String(limits));
    assert.ok(limits.length > 40, String(limits.length));
  });

  it("find the record of a transaction without those of the same instant", async () => {
    const store = await storeWith(500, "x".repeat(recordBytes));
    const found = await findReversedAction(store, user, { transactionId: "1000-377", index: 0 });
    assert.equal(found?.action.name, "cheer");
    assert.deepEqual(logLimits(store), [1]);
    for (const unknown of ["1000-501", "1000-0", "999-1", "1001-1", "1000"]) {
      await assert.rejects(findReversedAction(store, user, { transactionId: unknown, index: 0 }), {
        code: "not_found",
      });
    }
  });
});

describe("the webhook progress of users in a process", () => {
  it(`is the progress of ${progressesMax} users at most`, async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const memory = createProgressCache();
    const startProgress = (n: number): Promise<null> =>
      decide(store, `o:o:loyalty:s:u${n}`, {
        reads: [memory.query],
        apply: () => ({ writes: [memory.put({})], answer: null }),
      });
    for (let n = 0; n < progressesMax; n++) await startProgress(n);
    assert.equal(memory.size, progressesMax);
    await startProgress(progressesMax);
    assert.ok(memory.size <= progressesMax);
    assert.equal(memory.peek("o:o:loyalty:s:u0"), undefined);
    assert.notEqual(memory.peek(`o:o:loyalty:s:u${progressesMax}`), undefined);
  });
});

describe("users who register with the due queue", () => {
  /** So many users of one shard. */
  function neighbours(count: number): readonly DueUser[] {
    const users: DueUser[] = [];
    for (let n = 0; users.length < count; n++) {
      const userId = `u${n}`;
      if (userShardOf(userId) === userShardOf("u0")) {
        users.push({ organisationId: "o", spaceId: "s", userId });
      }
    }
    return users;
  }

  it(`are ${registrationBatchMax} of a commit at most, which no store refuses`, async () => {
    const commitsFor = async (count: number): Promise<number> => {
      const store = new ProbeStore();
      const agenda = createDueUserQueue({ store, clock: createTestClock().now });
      await Promise.all(neighbours(count).map(user => agenda.register(user)));
      return store.commits.length - 1;
    };
    assert.equal(await commitsFor(registrationBatchMax), 1);
    assert.equal(await commitsFor(registrationBatchMax + 1), 2);
  });

  it(`are registered with ${registrationAttemptsMax} attempts where it cannot be known whether one worked`, async () => {
    const lost = async (): Promise<never> => {
      throw new AppError("outcome_unknown", "Cannot tell");
    };
    const register = async (failures: number): Promise<void> => {
      const store = new ProbeStore();
      const agenda = createDueUserQueue({ store, clock: createTestClock().now });
      const [first, second] = neighbours(2);
      assert.ok(first !== undefined && second !== undefined);
      await agenda.register(first);
      store.interceptions.push(...Array.from({ length: failures }, () => lost));
      await agenda.register(second);
    };
    await register(registrationAttemptsMax - 1);
    await assert.rejects(register(registrationAttemptsMax), { code: "outcome_unknown" });
  });
});
