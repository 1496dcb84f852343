import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  claimShards,
  removeWorker,
  type ShardAssignment,
  ShardAssignments,
} from "../../../../../lib/fans/audience/worker/shard_assignment.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { describeOnEveryStore } from "../../../../support/stores.ts";

const empty: ShardAssignment = { workers: {}, shards: Array.from({ length: 5 }, () => null) };
const claim = { worker: "a", now: 1_000, until: 2_000, released: [] };

describe("an assignment", () => {
  it("gives a lone worker every shard", () => {
    const { claimed } = claimShards(empty, claim);
    assert.deepEqual(claimed, { shards: [0, 1, 2, 3, 4], surplus: 0 });
  });

  it("takes nothing from a living worker but reports its surplus, and gives released shards to others", () => {
    const first = claimShards(empty, claim).after;
    const second = claimShards(first, { ...claim, worker: "b" });
    assert.deepEqual(second.claimed, { shards: [], surplus: 0 });
    const repeated = claimShards(second.after, claim);
    assert.deepEqual(repeated.claimed, { shards: [0, 1, 2, 3, 4], surplus: 2 });
    const released = claimShards(repeated.after, { ...claim, released: [0, 1] });
    assert.deepEqual(released.claimed, { shards: [2, 3, 4], surplus: 0 });
    assert.deepEqual(claimShards(released.after, { ...claim, worker: "b" }).claimed.shards, [0, 1]);
  });

  it("frees the shards of a worker at the instant its lease expires, and not before", () => {
    const first = claimShards(empty, claim).after;
    const late = { ...claim, worker: "b", until: 9_000 };
    assert.deepEqual(claimShards(first, { ...late, now: 1_999 }).claimed.shards, []);
    const taken = claimShards(first, { ...late, now: 2_000 });
    assert.deepEqual(taken.claimed.shards, [0, 1, 2, 3, 4]);
    assert.deepEqual(claimShards(taken.after, { ...claim, now: 2_000, until: 3_000 }).claimed.shards, []);
  });

  it("frees the shards of a worker that leaves", () => {
    const left = removeWorker(claimShards(empty, claim).after, "a");
    assert.deepEqual(left, empty);
  });
});

describeOnEveryStore("assignments in a store", open => {
  it("never give a shard to two workers, however many claim at once", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const names = ["a", "b", "c", "d"];
    const assignments = names.map(() => new ShardAssignments(store, 16));
    for (let round = 0; round < 3; round++) {
      const now = clock.now();
      const claims = assignments.map((one, index) =>
        one.claim({ worker: names[index] ?? "", now, until: now + 1_000, released: [] }),
      );
      const shards = (await Promise.all(claims)).flatMap(claimed => claimed.shards);
      assert.equal(new Set(shards).size, shards.length);
    }
  });
});
