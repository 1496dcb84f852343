import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { createQueueIntake } from "../../../../../lib/fans/audience/actions/intake.ts";
import { DeadLetterQueue } from "../../../../../lib/fans/audience/worker/dead_letter_queue.ts";
import { actionShards, topicOf } from "../../../../../lib/fans/audience/worker/queued_action.ts";
import { type ActionWorker, startActionWorker } from "../../../../../lib/fans/audience/worker/worker.ts";
import { silentLogger } from "../../../../../lib/http/mod.ts";
import { systemTimer } from "../../../../../lib/storage/background/mod.ts";
import { until } from "../../../../support/until.ts";
import { sinkOf } from "./_sink.ts";

describe("workers of one queue", () => {
  it("share the shards while they are there, keep each user's order, and leave nothing when they stop", async () => {
    const clock = Date.now;
    await using store = createMemoryStore();
    await using queue = createMemoryQueue({ clock });
    const seen = new Map<string, number[]>();
    const start = (name: string): ActionWorker =>
      startActionWorker({
        queue,
        store,
        clock,
        name,
        timer: systemTimer,
        logger: silentLogger,
        leaseMs: 400,
        shards: actionShards,
        sink: sinkOf(async ({ userId }, { data }) => {
          await new Promise(resolve => setImmediate(resolve));
          seen.set(userId, [...(seen.get(userId) ?? []), Number(data.n)]);
        }),
        deadLetters: new DeadLetterQueue({ store, clock }),
      });
    const intake = createQueueIntake({
      ...{ queue, shards: actionShards, clock, onPushed: () => {} },
      deadLetters: new DeadLetterQueue({ store, clock }),
    });
    const tenant = { organisationId: "club", spaceId: "space", action: "step" };
    let pushed = 0;
    async function push(turns: number): Promise<void> {
      for (let turn = 0; turn < turns; turn++, pushed++) {
        const actions = Array.from({ length: 40 }, (_, user) => ({
          ...tenant,
          userId: `user-${user}`,
          data: { n: pushed },
          actionId: `${pushed}`,
          at: 0,
        }));
        assert.ok((await intake.accept(actions)).every(refusal => refusal === null));
      }
    }
    const first = start("first");
    await until("the first has all", () => first.shards.length === actionShards);
    await push(20);
    const second = start("second");
    await push(20);
    await until("they share", () => first.shards.length === 8 && second.shards.length === 8);
    await push(20);
    await first.stop();
    await until("the second has all", () => second.shards.length === actionShards);
    await push(20);
    await until("all are applied", () => [...seen.values()].flat().length >= 40 * pushed);
    await second.stop();
    for (const numbers of seen.values())
      assert.deepEqual(
        numbers,
        Array.from({ length: pushed }, (_, n) => n),
      );
    for (let shard = 0; shard < actionShards; shard++) {
      assert.equal(await queue.depth(topicOf(shard, actionShards)), 0, "settled");
    }
    assert.deepEqual([first.shards, second.shards], [[], []]);
  });
});
