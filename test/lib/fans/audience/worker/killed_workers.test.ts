/**
 * Workers that are killed while they work: every action takes effect exactly once, those of a user in order.
 *
 * `GRANDSTAND_QUEUED_ACTIONS=100000` runs it with that many actions.
 */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createQueueIntake } from "../../../../../lib/fans/audience/actions/intake.ts";
import { DeadLetterQueue } from "../../../../../lib/fans/audience/worker/dead_letter_queue.ts";
import {
  actionShards,
  type QueuedAction,
  topicOf,
} from "../../../../../lib/fans/audience/worker/queued_action.ts";
import { seedDirectory } from "../../../../../lib/fans/directory/seed.ts";
import { createPlatform } from "../../../../../lib/mod.ts";
import { start } from "../../../../runtime/processes.ts";
import { databases, openKept } from "../../../../support/databases.ts";
import { ids, testSecret } from "../../../../support/platform.ts";
import { bundledProgram } from "../../../../support/program.ts";
import { orderedSeed } from "./_ordered.ts";

const actionCount = Number(process.env.GRANDSTAND_QUEUED_ACTIONS ?? 6_000);
const userCount = 300;
const leaseMs = 1_500;
const batchSize = 1_000;
/** Workers and Redis need the processor more. */
const pollMs = 10;
const space = { organisationId: ids.organisation, spaceId: ids.space };

function actionOf(n: number): QueuedAction {
  const turn = Math.floor(n / userCount);
  const report = { action: "step", data: { n: turn }, actionId: `${turn}`, at: Date.now() };
  return { ...space, ...report, userId: `user-${n % userCount}` };
}

for (const { name, skip, start: startServer } of databases) {
  it(`of three workers on ${name} two are killed at random, and nothing is lost, doubled or out of order`, {
    skip,
    timeout: 60_000 + 2 * actionCount,
  }, async context => {
    const server = await startServer();
    context.after(() => server.kill());
    const kept = openKept(server.url);
    const { store, queue } = kept;
    // Connections that stay open would keep the process from ending.
    context.after(() => kept[Symbol.asyncDispose]());
    await seedDirectory(store, orderedSeed, { clock: Date.now });
    const intake = createQueueIntake({
      ...{ queue, shards: actionShards, clock: Date.now, onPushed: () => {} },
      deadLetters: new DeadLetterQueue({ store, clock: Date.now }),
    });
    const file = bundledProgram(new URL("worker_process.ts", import.meta.url));
    const workers = Array.from({ length: 3 }, () => {
      const program = start([process.execPath, file, server.url, String(leaseMs)]);
      context.after(() => program.signal("SIGKILL"));
      return program;
    });
    await Promise.all(workers.map(worker => worker.match(/shards [456]\n/)));
    const waiting = async (): Promise<number> => {
      const shards = Array.from({ length: actionShards }, (_, shard) =>
        queue.depth(topicOf(shard, actionShards)),
      );
      return (await Promise.all(shards)).reduce((sum, depth) => sum + depth, 0);
    };
    const push = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n += batchSize) {
        const some = Array.from({ length: Math.min(batchSize, to - n) }, (_, index) => actionOf(n + index));
        // A busy machine may answer a push too late. All actions of a shard, and so of a user, are pushed again then, in order.
        for (let left = some; left.length > 0; ) {
          const refusals = await intake.accept(left);
          left = left.filter((_, index) => refusals[index] !== null);
        }
      }
    };
    // The others come after the kills, so that the last worker has work however slow this process is beside it.
    const early = Math.floor(actionCount * 0.8);
    const killedAt = [Math.random() * 0.4, 0.4 + Math.random() * 0.4].map(part => early * (1 - part));
    context.diagnostic(`killed with ${killedAt.map(Math.round).join(" and ")} of ${early} actions to go`);
    await push(0, early);
    for (const leftMax of killedAt) {
      while ((await waiting()) > leftMax) await setTimeout(pollMs);
      workers.splice(Math.floor(Math.random() * workers.length), 1)[0]?.signal("SIGKILL");
    }
    await push(early, actionCount);
    while ((await waiting()) > 0) await setTimeout(pollMs);
    const platform = await createPlatform({ store, secret: testSecret });
    const { loyalty } = platform;
    let sum = 0;
    for (let user = 0; user < userCount; user++) {
      const own = Math.ceil((actionCount - user) / userCount);
      const { metrics } = await loyalty.profile({ ...space, userId: `user-${user}`, projectId: null });
      assert.deepEqual(metrics, { count: own, ordered: own }, `user-${user}`);
      sum += own;
    }
    assert.equal(sum, actionCount);
    const deadLetters = await store.read(`o:${ids.organisation}:dead_actions`, [
      { type: "board", key: "letters", limit: 1 },
    ]);
    assert.equal(deadLetters[0].size, 0);
    await platform.close();
  });
}
