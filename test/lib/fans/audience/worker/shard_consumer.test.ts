/** Bounds of a worker: how much it takes, how rarely it polls an idle shard, and how long it takes to stop. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { DeadLetterQueue } from "../../../../../lib/fans/audience/worker/dead_letter_queue.ts";
import { encodeAction, topicOf } from "../../../../../lib/fans/audience/worker/queued_action.ts";
import { ShardConsumer } from "../../../../../lib/fans/audience/worker/shard_consumer.ts";
import { startActionWorker } from "../../../../../lib/fans/audience/worker/worker.ts";
import { silentLogger } from "../../../../../lib/http/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { createManualTimer, settle } from "../../../../support/timer.ts";
import { sinkOf } from "./_sink.ts";

const body = (n: number, userId = `u${n}`): string =>
  encodeAction({
    organisationId: "club",
    spaceId: "space",
    userId,
    action: "cheer",
    data: {},
    actionId: `${n}`,
    at: 1,
  });

describe("the consumer of a shard", () => {
  it("takes no more messages than its window holds", async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const ends: (() => void)[] = [];
    const window = 32;
    await queue.push(
      "t",
      Array.from({ length: 2 * window }, (_, n) => body(n)),
    );
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      process: ({ length }) => new Promise(resolve => ends.push(() => resolve(length))),
      canProceed: async () => true,
      timer,
      logger: silentLogger,
      window,
    });
    for (let round = 0; round < 5; round++) await advance(250);
    assert.equal(ends.length, window);
    for (const end of ends.splice(0)) end();
    for (let round = 0; round < 5; round++) await advance(250);
    assert.equal(ends.length, window);
    consumer.finish();
    for (const end of ends) end();
    await consumer.done;
  });

  it("processes the actions of a user together and in order, beside those of other users", async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const runs: string[][] = [];
    const ends: (() => void)[] = [];
    await queue.push("t", [body(1, "a"), body(2, "b"), body(3, "a"), body(4, "a")]);
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      process: actions => {
        runs.push(actions.map(({ action }) => action.actionId));
        return new Promise(resolve => ends.push(() => resolve(actions.length)));
      },
      canProceed: async () => true,
      timer,
      logger: silentLogger,
    });
    await advance(250);
    assert.deepEqual(runs, [["1", "3", "4"], ["2"]]);
    await queue.push("t", [body(5, "a"), body(6, "a")]);
    await advance(250);
    assert.equal(runs.length, 2, "later actions of the user wait");
    for (const end of ends.splice(0)) end();
    await advance(250);
    assert.deepEqual(runs.slice(2), [["5", "6"]]);
    for (const end of ends) end();
    consumer.finish();
    await consumer.done;
    assert.equal(await queue.depth("t"), 0, "acknowledged");
  });

  it("hands on what it takes after it lost the shard", async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    let arrive = (): void => {};
    const delayed = new Promise<void>(resolve => {
      arrive = resolve;
    });
    const consumer = new ShardConsumer({
      queue: {
        ...{ push: queue.push, ack: queue.ack, depth: queue.depth, oldest: queue.oldest },
        release: topic => queue.release(topic),
        take: async (topic, lease) => {
          await delayed;
          return await queue.take(topic, lease);
        },
        [Symbol.asyncDispose]: async () => {},
      },
      topic: "t",
      worker: "w",
      process: async ({ length }) => length,
      canProceed: async isLost => !isLost(),
      timer,
      logger: silentLogger,
    });
    await settle();
    await queue.push("t", [body(1)]);
    consumer.abandon();
    arrive();
    await advance(250);
    await consumer.done;
    const taken = await queue.take("t", { consumer: "next", limit: 10, leaseMs: 1_000 });
    assert.equal(taken.length, 1);
  });

  it("applies what a worker took that died before its late call arrived", async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const applied: string[] = [];
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      process: async actions => {
        applied.push(...actions.map(({ action }) => action.actionId));
        return actions.length;
      },
      canProceed: async () => true,
      timer,
      logger: silentLogger,
    });
    await settle();
    await queue.push("t", [body(1)]);
    await queue.take("t", { consumer: "dead", limit: 10, leaseMs: 86_400_000 });
    for (let ms = 0; ms < 11_000; ms += 250) await advance(250);
    assert.deepEqual(applied, ["1"]);
    consumer.finish();
    await consumer.done;
    assert.equal(await queue.depth("t"), 0);
  });

  it("polls an idle shard ever more rarely, up to every 250 ms", async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const pauses: number[] = [];
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      process: async ({ length }) => length,
      canProceed: async () => true,
      timer: (callback, ms) => {
        pauses.push(ms);
        return timer(callback, ms);
      },
      logger: silentLogger,
    });
    for (let round = 0; round < 20; round++) await advance(250);
    assert.ok(Number(pauses[0]) < 250);
    assert.deepEqual([Math.max(...pauses), pauses.at(-1)], [250, 250]);
    consumer.finish();
    await consumer.done;
  });
});

describe("a worker that stops", () => {
  it("waits 10 s for actions that cannot take effect, then leaves them to other workers", async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    await queue.push(topicOf(0, 1), [body(1)]);
    let attempts = 0;
    const worker = startActionWorker({
      queue,
      store,
      sink: sinkOf(async () => {
        attempts += 1;
        throw new AppError("storage_unavailable", "Cannot reach the store");
      }),
      deadLetters: new DeadLetterQueue({ store, clock: clock.now }),
      name: "w",
      clock: clock.now,
      timer,
      logger: silentLogger,
      shards: 1,
    });
    for (let round = 0; round < 10; round++) await advance(250);
    assert.ok(attempts > 0);
    let hasStopped = false;
    const stopped = worker.stop().then(() => {
      hasStopped = true;
    });
    await advance(10_000 - 1);
    assert.equal(hasStopped, false);
    const before = attempts;
    await advance(1);
    for (let round = 0; round < 5 && !hasStopped; round++) await advance(250);
    await stopped;
    await settle();
    assert.ok(attempts <= before + 1);
    assert.equal(await queue.depth(topicOf(0, 1)), 1);
  });
});
