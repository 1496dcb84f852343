/** Actions of a user who has used up the ids of a week. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryQueue } from "../../../adapters/memory/mod.ts";
import { spaceUserPartition } from "../../../lib/fans/loyalty/user/state.ts";
import { ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { assertProblem } from "../_problem.ts";
import { backEnd, pointsOf } from "./_back_end.ts";

const single = "/v1/api/audience/internal/actions";
const bulk = `${single}/bulk`;
const exact = { action: "prediction", data: { outcome: "exact" } };

/** Makes the record of a user say that all ids of the week are used. */
async function useUpIds({ store }: TestPlatform, userId: string): Promise<void> {
  const partition = spaceUserPartition({ organisationId: ids.organisation, userId });
  const [stored] = await store.read(partition, [{ type: "record", key: "loyalty" }]);
  const { seen, ...state } = JSON.parse(stored?.value ?? "{}");
  const value = JSON.stringify({ ...state, seen: { ...seen, count: 10_000 } });
  await store.commit(partition, { writes: [{ type: "put", key: "loyalty", value }] });
}

describeOnStores("actions beyond the ids of a week", open => {
  it("are refused at the door once a worker has found that their user has used them up", async t => {
    const queue = createMemoryQueue({ clock: Date.now });
    const world = await openPlatform(open, { queue });
    t.after(async () => {
      await world.dispose();
      await queue[Symbol.asyncDispose]();
    });

    const call = await backEnd(world);
    const week = 7 * 24 * 3_600_000;
    const fan = await world.fan("Sam");
    const send = (ids: readonly string[], more: readonly object[] = []) => {
      const actions = ids.map(actionId => ({ userId: fan.userId, actionId, ...exact }));
      return call(bulk, { body: { actions: [...actions, ...more] } });
    };
    await fan.act("rest", {}, "first");
    await useUpIds(world, fan.userId);
    const worker = world.platform.startActionWorker();
    t.after(() => worker.stop());
    assert.equal((await send(["over"])).status, 202);
    const dead = () => call("/v1/api/audience/internal/actions/dead-letters");
    await until("it is a dead letter", async () => (await dead()).json.totalCount === 1);
    assert.equal((await dead()).json.data[0].reason.code, "rate_limited");
    world.clock.advance(1_000);
    const restMs = week - (world.clock.now() % week);
    const refused = await send(["next"]);
    assertProblem(refused, 429, "rate_limited");
    assert.equal(refused.headers.get("retry-after"), String(Math.ceil(restMs / 1_000)));
    const one = await call(single, { body: { userId: fan.userId, actionId: "one", ...exact } });
    assertProblem(one, 429, "rate_limited");
    const mixed = await send(["next"], [{ userId: "other", ...exact }]);
    assert.equal(mixed.status, 202);
    assert.deepEqual(mixed.json.data.summary, { total: 2, queued: 1, duplicate: 0, failed: 1 });
    assert.equal(mixed.json.data.results[0].error.code, "rate_limited");
    await until("the other one has taken effect", async () => (await pointsOf(world, "other")) === 3);
    world.clock.advance(restMs);
    assert.equal((await send(["next"])).status, 202);
    await until("it has taken effect", async () => (await pointsOf(world, fan.userId)) === 3);
    assert.equal((await dead()).json.totalCount, 1);
  });
});
