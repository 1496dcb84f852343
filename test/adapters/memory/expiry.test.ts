import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Expiry, State, type StoredRecord, sweepSteps } from "../../../adapters/memory/state.ts";
import { CommitChange } from "../../../adapters/memory/store.ts";

function record(key: string, expireAt: number): StoredRecord {
  return { partition: "p", key, value: "v", version: "1", expireAt, expiryIndex: -1 };
}

function count(state: State): number {
  let records = 0;
  for (const [, space] of state.partitions()) for (const _ of space.entries("record")) records++;
  return records;
}

describe("the removal of expired records", () => {
  it("keeps at most about a third as many expired records as live ones", () => {
    const state = new State(0, 0);
    const livingMs = 2_000;
    let most = 0;
    for (let now = 0; now < 40_000; now++) {
      const change = new CommitChange({
        state,
        partition: `partition ${now % 7}`,
        version: String(now),
        isKept: false,
      });
      change.apply([{ type: "put", key: `key ${now}`, value: "", expireAt: now + livingMs }]);
      state.sweep(now, 1);
      most = Math.max(most, count(state) * Number(now % 100 === 0));
    }
    assert.ok(most <= livingMs * 1.4, `${most} records were kept for ${livingMs} live ones`);
  });

  it("removes every expired record, and the partitions they leave empty, while commits continue", () => {
    const state = new State(0, 0);
    for (let at = 0; at < 5_000; at++) {
      const change = new CommitChange({ state, partition: `p${at}`, version: "1", isKept: false });
      change.apply([{ type: "put", key: "k", value: "", expireAt: 10 }]);
    }
    for (let commit = 0; commit < 5_000 / sweepSteps; commit++) state.sweep(10, 0);
    assert.equal([...state.partitions()].length, 0);
  });

  it("never removes what has not expired, was replaced or lives on without an expiry", () => {
    const expiry = new Expiry();
    const records = Array.from({ length: 100 }, (_, at) => record(`k${at}`, at % 3 === 0 ? 5 : 50));
    for (const each of records) expiry.add(each);
    expiry.add(record("forever", Number.POSITIVE_INFINITY));
    for (const each of records.slice(60)) expiry.remove(each);
    const gone: string[] = [];
    expiry.sweep(49, 1_000, each => {
      gone.push(each.key);
      expiry.remove(each);
    });
    const expected = records.slice(0, 60).filter(each => each.expireAt === 5);
    assert.deepEqual(gone.sort(), expected.map(each => each.key).sort());
    assert.equal(expiry.size, 40);
  });
});
