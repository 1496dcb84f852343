import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type SpaceUser, spaceUserPartition } from "../../../../../lib/fans/loyalty/user/state.ts";
import { FairUserQueue, queuedUsersMax } from "../../../../../lib/fans/loyalty/webhooks/dispatcher.ts";

const webhookConcurrency = 20;
const webhookConcurrencyPerSpaceMax = 16;

function member(spaceId: string, n: number): SpaceUser {
  return { organisationId: "o", spaceId, userId: `${spaceId}-${n}`, projectId: null };
}

function crowd(...spaces: readonly (readonly [spaceId: string, count: number])[]): FairUserQueue {
  const waiting = new FairUserQueue();
  for (const [spaceId, count] of spaces) for (let n = 0; n < count; n++) waiting.add(member(spaceId, n));
  return waiting;
}

const nobody: ReadonlyMap<string, unknown> = new Map();

describe("users whose events are to be sent", () => {
  it("come in their order, and spaces take turns", () => {
    const waiting = crowd(["a", 4], ["b", 2]);
    const order = Array.from({ length: 7 }, () => waiting.take(nobody)?.userId ?? null);
    assert.deepEqual(order, ["a-0", "b-0", "a-1", "b-1", "a-2", "a-3", null]);
    assert.equal(waiting.size, 0);
  });

  it("of one space leave lanes to those of others, however slow its services are", () => {
    assert.ok(webhookConcurrencyPerSpaceMax < webhookConcurrency);
    const waiting = crowd(["slow", 1_000]);
    const taken = Array.from({ length: webhookConcurrencyPerSpaceMax }, () => waiting.take(nobody));
    assert.ok(taken.every(one => one !== null));
    assert.equal(waiting.take(nobody), null);
    waiting.add(member("quick", 1));
    assert.equal(waiting.take(nobody)?.userId, "quick-1");
    waiting.done(member("slow", 0));
    assert.equal(waiting.take(nobody)?.spaceId, "slow");
  });

  it("wait for their own turn, once in each of their spaces", () => {
    const waiting = crowd(["a", 2]);
    waiting.add(member("a", 0));
    waiting.add({ ...member("a", 0), spaceId: "b" });
    assert.equal(waiting.size, 3);
    const busy = new Map([[spaceUserPartition(member("a", 0)), true]]);
    assert.equal(waiting.take(busy)?.userId, "a-1");
    assert.equal(waiting.take(busy), null);
    assert.deepEqual([waiting.take(nobody)?.spaceId, waiting.take(nobody)?.spaceId].sort(), ["a", "b"]);
  });

  it("are bounded in number", () => {
    const waiting = crowd(["a", queuedUsersMax + 1]);
    assert.equal(waiting.size, queuedUsersMax);
  });
});
