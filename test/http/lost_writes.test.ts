/** A replica that takes over without the last writes of some partitions: what depends on them follows what is left. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { spaceUserPartition } from "../../lib/loyalty/mod.ts";
import type { Partition, Store } from "../../lib/storage/mod.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnEveryStore, type OpenStore } from "../support/stores.ts";
import { backEnd } from "./audience/_back_end.ts";
import { foundIds } from "./audience/_searched.ts";

const points = { type: "metric", metricId: "points" };
const exacts = { type: "action", action: "prediction", when: { eq: [{ var: "data.outcome" }, "exact"] } };
const settings = {
  leaderboards: [
    { id: "overall", source: points },
    { id: "lowest", order: "asc", source: points, shards: 4 },
    { id: "dense", rankStyle: "dense", source: points },
    { id: "exacts", source: exacts },
    { id: "monthly", source: points, seasons: { type: "monthly" } },
    { id: "few", source: points, bounds: { min: 0, max: 11 } },
  ],
  eventLeaderboards: [{ id: "round_1", source: points }],
};
const audience = {
  customFields: { goals: { type: "number" }, shirt: { type: "string" } },
  indexes: ["metrics.points", "customFields.goals"],
};
const lostSeed = {
  ...seed,
  organisations: seed.organisations.map(one =>
    one.id === ids.organisation ? { ...one, settings: { ...one.settings, audience } } : one,
  ),
  projects: seed.projects.map(one =>
    one.id === ids.project ? { ...one, settings: { ...one.settings, ...settings } } : one,
  ),
};
const boards = [...settings.leaderboards.map(({ id }) => id), `../events/${ids.event}/leaderboards/round_1`];

async function openWorld(
  open: OpenStore,
  t: { after(end: () => Promise<void>): void },
): Promise<TestPlatform> {
  const world = await openPlatform(open, { seed: lostSeed });
  t.after(() => world.dispose());
  return world;
}

async function shown({ platform, call }: TestPlatform, userId: string): Promise<(number | null)[]> {
  await platform.idle();
  const scores: (number | null)[] = [];
  for (const board of boards) {
    const path = new URL(`${board}/users/${userId}`, `http://x/projects/${ids.project}/leaderboards/`)
      .pathname;
    const { status, json } = await call(path);
    scores.push(status === 200 ? json.data.score : null);
  }
  return scores;
}

/** Returns a function that undoes all later writes to a record. */
async function remember(store: Store, partition: Partition, key: string): Promise<() => Promise<void>> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  const value = stored?.value ?? assert.fail(`there is no ${key}`);
  return async () => {
    const { ok } = await store.commit(partition, { writes: [{ type: "put", key, value }] });
    assert.ok(ok);
  };
}

describeOnEveryStore("lost writes", open => {
  it("leave every board at what the next action of the user gives", async t => {
    const world = await openWorld(open, t);
    const fan = await world.fan("Sam");
    const act = (outcome: string) => fan.act("prediction", { eventId: ids.event, outcome });
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: fan.userId });
    await act("right");
    const lose = await remember(world.store, partition, "loyalty");
    for (const outcome of ["exact", "wrong", "wrong", "exact"])
      assert.equal((await act(outcome)).status, 200);
    assert.deepEqual(await shown(world, fan.userId), [17, 17, 17, 2, 17, 4, 17]);
    await lose();
    assert.equal((await act("exact")).status, 200);
    assert.equal((await fan.profile()).metrics.points, 4);
    assert.deepEqual(await shown(world, fan.userId), [4, 4, 4, 1, 4, 4, 4]);
    assert.equal((await act("exact")).status, 200);
    assert.deepEqual(await shown(world, fan.userId), [17, 17, 17, 2, 17, 4, 17]);
    const dense = await world.call(`/projects/${ids.project}/leaderboards/dense`);
    assert.deepEqual(
      dense.json.data.map(({ rank, score }: { rank: number; score: number }) => [rank, score]),
      [[1, 17]],
    );
  });

  it("leave searches at what users have", async t => {
    const world = await openWorld(open, t);
    const { platform, store, clock } = world;
    const crm = await backEnd(world, ["users:read", "users:write"]);
    const fan = await world.fan("Sam");
    const partition = spaceUserPartition({ organisationId: ids.organisation, userId: fan.userId });
    const setGoals = async (goals: number): Promise<void> => {
      const updates = [{ userId: fan.userId, customFields: { goals } }];
      const answer = await crm("/v1/api/audience/internal/profiles/update-batch", { body: { updates } });
      assert.equal(answer.json.data.summary.failed, 0, answer.text);
    };
    await fan.act("prediction", { outcome: "right" });
    await setGoals(1);
    // The indexes are built a while after they are declared.
    await platform.work();
    clock.advance(10_000);
    await platform.work();
    const lost = [await remember(store, partition, "loyalty"), await remember(store, partition, "profile")];
    for (let n = 0; n < 3; n++) await fan.act("prediction", { outcome: "exact" });
    for (const goals of [2, 3, 4]) await setGoals(goals);
    await platform.idle();
    for (const lose of lost) await lose();
    await fan.act("prediction", { outcome: "right" });
    await setGoals(5);
    await platform.idle();
    for (const filter of [
      { metrics: { points: { min: 2, max: 2 } } },
      { eq: [{ var: "customFields.goals" }, 5] },
    ]) {
      assert.deepEqual(await foundIds(crm, { filter }), [fan.userId], JSON.stringify(filter));
    }
  });
});
