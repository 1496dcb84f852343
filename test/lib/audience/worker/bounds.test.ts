/** How much a worker has in hand, how rarely it looks at an idle shard, and how long it takes to stop. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { encodeAction, topicOf } from "../../../../lib/audience/worker/queued_action.ts";
import { idlePauseMsMax, inHandMax, ShardConsumer } from "../../../../lib/audience/worker/shard_consumer.ts";
import { startActionWorker, workerStopMsMax } from "../../../../lib/audience/worker/worker.ts";
import { AppError } from "../../../../lib/errors/mod.ts";
import { silentLogger } from "../../../../lib/http/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { createManualTimer, settle } from "../../../support/timer.ts";

const body = (n: number): string =>
  encodeAction({
    organisationId: "club",
    spaceId: "space",
    userId: `u${n}`,
    action: "cheer",
    data: {},
    actionId: `${n}`,
    at: 1,
  });

describe("a shard in the hands of a worker", () => {
  it(`has ${inHandMax} actions under way at most`, async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const ends: (() => void)[] = [];
    await queue.push(
      "t",
      Array.from({ length: 2 * inHandMax }, (_, n) => body(n)),
    );
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      handle: () => new Promise(resolve => ends.push(() => resolve(true))),
      permit: () => true,
      timer,
      logger: silentLogger,
    });
    for (let round = 0; round < 5; round++) await advance(idlePauseMsMax);
    assert.equal(ends.length, inHandMax);
    for (const end of ends.splice(0)) end();
    for (let round = 0; round < 5; round++) await advance(idlePauseMsMax);
    assert.equal(ends.length, inHandMax);
    consumer.finish();
    for (const end of ends) end();
    await consumer.done;
  });

  it(`is looked at every ${idlePauseMsMax} ms where nothing comes`, async () => {
    const clock = createTestClock();
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    const pauses: number[] = [];
    const consumer = new ShardConsumer({
      queue,
      topic: "t",
      worker: "w",
      handle: async () => true,
      permit: () => true,
      timer: (callback, ms) => {
        pauses.push(ms);
        return timer(callback, ms);
      },
      logger: silentLogger,
    });
    for (let round = 0; round < 20; round++) await advance(idlePauseMsMax);
    assert.ok(Number(pauses[0]) < idlePauseMsMax);
    assert.deepEqual([Math.max(...pauses), pauses.at(-1)], [idlePauseMsMax, idlePauseMsMax]);
    consumer.finish();
    await consumer.done;
  });
});

describe("a worker that stops", () => {
  it(`gives actions that cannot take effect ${workerStopMsMax} ms, and leaves them to others then`, async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    await using queue = createMemoryQueue({ clock: clock.now });
    const { timer, advance } = createManualTimer();
    await queue.push(topicOf(0, 1), [body(1)]);
    let tries = 0;
    const worker = startActionWorker({
      queue,
      store,
      sink: {
        async report() {
          tries += 1;
          throw new AppError("storage_unavailable", "Cannot reach the store");
        },
      },
      name: "w",
      clock: clock.now,
      timer,
      logger: silentLogger,
      shards: 1,
    });
    for (let round = 0; round < 10; round++) await advance(idlePauseMsMax);
    assert.ok(tries > 0);
    let hasStopped = false;
    const stopped = worker.stop().then(() => {
      hasStopped = true;
    });
    await advance(workerStopMsMax - 1);
    assert.equal(hasStopped, false);
    const before = tries;
    await advance(1);
    for (let round = 0; round < 5 && !hasStopped; round++) await advance(idlePauseMsMax);
    await stopped;
    await settle();
    assert.ok(tries <= before + 1);
    assert.equal(await queue.depth(topicOf(0, 1)), 1);
  });
});
