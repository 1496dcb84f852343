/** The state of the actions of a bulk request. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryQueue } from "../../../adapters/memory/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { backEnd } from "./_back_end.ts";

const dayMs = 86_400_000;
const path = "/v1/api/audience/internal/actions";
const exact = { action: "prediction", data: { outcome: "exact" } };

async function opened(
  open: OpenStore,
  depthMax?: number,
): Promise<{ world: TestPlatform; dispose: () => Promise<void> }> {
  const queue = createMemoryQueue({ clock: Date.now, ...(depthMax === undefined ? {} : { depthMax }) });
  const world = await openPlatform(open, { queue });
  return {
    world,
    async dispose() {
      await world.dispose();
      await queue[Symbol.asyncDispose]();
    },
  };
}

describeOnStores("the status of a bulk request", open => {
  it("says of each action whether it waits, succeeded, or why it failed", async t => {
    const { world, dispose } = await opened(open);
    t.after(dispose);
    const call = await backEnd(world, ["actions:write"]);
    const actions = [
      { userId: "a", actionId: "1", ...exact },
      { userId: "b", ...exact },
      { userId: "a", actionId: "1", ...exact },
      { userId: "a", actionId: "2", action: "dance" },
    ];
    const accepted = await call(`${path}/bulk`, { body: { actions } });
    const { batchId, results } = accepted.json.data;
    const before = await call(`${path}/${batchId}`);
    assert.equal(before.status, 200);
    assert.deepEqual(before.json, {
      message: "OK",
      data: {
        batchId,
        summary: { total: 4, queued: 3, succeeded: 0, duplicate: 1, failed: 0 },
        errors: false,
        results,
      },
    });
    const worker = world.platform.startActionWorker();
    const summary = async (): Promise<Record<string, number>> =>
      (await call(`${path}/${batchId}`)).json.data.summary;
    await until("all are at their end", async () => (await summary()).queued === 0);
    const after = (await call(`${path}/${batchId}`)).json.data;
    assert.deepEqual(after.summary, { total: 4, queued: 0, succeeded: 2, duplicate: 1, failed: 1 });
    assert.equal(after.errors, true);
    assert.deepEqual(after.results[0], { index: 0, id: "1", userId: "a", status: "succeeded" });
    assert.equal(after.results[1].id, results[1].id);
    const { error, ...failed } = after.results[3];
    assert.deepEqual(failed, { index: 3, id: "2", userId: "a", status: "failed" });
    assert.deepEqual([error.code, error.retryable, error.pointer], ["forbidden", false, ""]);
    assert.match(error.message, /does not name it/);
    await worker.stop();
  });

  it("keeps the actions that the queue refused", async t => {
    const { world, dispose } = await opened(open, 1);
    t.after(dispose);
    const call = await backEnd(world, ["actions:write"]);
    const actions = Array.from({ length: 40 }, (_, n) => ({ userId: `user-${n}`, ...exact }));
    const accepted = await call(`${path}/bulk`, { body: { actions } });
    assert.equal(accepted.status, 202);
    const { batchId, results, summary } = accepted.json.data;
    assert.ok(summary.failed > 0 && summary.queued > 0);
    const { json } = await call(`${path}/${batchId}`);
    assert.deepEqual(json.data.results, results);
    assert.deepEqual(json.data.summary, { ...summary, succeeded: 0 });
  });

  it("can be read for a day, by the organisation only", async t => {
    const { world, dispose } = await opened(open);
    t.after(dispose);
    const call = await backEnd(world, ["actions:write"]);
    const stranger = await backEnd(world, ["actions:write"], ids.otherOrganisation);
    const accepted = await call(`${path}/bulk`, { body: { actions: [{ userId: "a", ...exact }] } });
    const { batchId } = accepted.json.data;
    const status = async (as: typeof call, id: string): Promise<number> => (await as(`${path}/${id}`)).status;
    assert.equal(await status(call, batchId), 200);
    assert.equal(await status(stranger, batchId), 404);
    assert.equal(await status(call, `bat_${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}`), 404);
    assert.equal(await status(call, "other"), 400);
    world.clock.advance(dayMs - 1);
    assert.equal(await status(call, batchId), 200);
    world.clock.advance(1);
    assert.equal(await status(call, batchId), 404);
  });

  it("can be read for 1,000 users", async t => {
    const { world, dispose } = await opened(open);
    t.after(dispose);
    const call = await backEnd(world, ["actions:write"]);
    const actions = Array.from({ length: 1_000 }, (_, n) => ({ userId: `user-${n}`, ...exact }));
    const { json } = await call(`${path}/bulk`, { body: { actions } });
    const found = await call(`${path}/${json.data.batchId}`);
    assert.equal(found.json.data.summary.queued, 1_000);
    assert.equal(found.json.data.results[999].userId, "user-999");
  });
});
