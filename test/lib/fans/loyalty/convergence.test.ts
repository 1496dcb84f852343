/**
 * Processes that die between any two steps: whatever was begun, the others bring it to the end that it would have had.
 */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../lib/fans/loyalty/due_users.ts";
import type { Platform } from "../../../../lib/mod.ts";
import { createDyingStore, type Death } from "../../../support/dying_store.ts";
import { isLongRun, sampleSize } from "../../../support/full.ts";
import { ids, loyalty } from "../../../support/platform.ts";
import { openProcesses, type Processes } from "../../../support/processes.ts";
import { describeOnStores, type OpenStore } from "../../../support/stores.ts";

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const pool = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };
const codes = ["RED", "GREEN", "BLUE"];
const events = ["actionRewarded", "missionCompleted", "challengeCompleted", "couponReceived"];
const webhooks = [{ id: "crm", url: "https://crm.example/events", events }];
const boards = [
  { eventId: null, leaderboardId: "overall" },
  { eventId: null, leaderboardId: "exacts" },
  { eventId: ids.event, leaderboardId: "round_1" },
];

/** Steps of a fan; each has an id, so that it may be repeated. */
const steps = [
  { action: "prediction", data: { outcome: "right", eventId: ids.event } },
  { action: "cheer", data: {} },
  { action: "prediction", data: { outcome: "exact", eventId: ids.event } },
  { action: "prediction", data: { outcome: "wrong", eventId: ids.event } },
].map((step, n) => ({ ...step, actionId: `step-${n}`, isClientReport: false }));

async function openWorld(open: OpenStore): Promise<Processes> {
  const world = await openProcesses(open, { ...loyalty, webhooks });
  const first = await world.process();
  await first.loyalty.codePools.add(pool, codes);
  return world;
}

/** Everything that anybody can see of the fan. */
async function seen({ delivered }: Processes, platform: Platform): Promise<unknown> {
  const history = await platform.loyalty.history(member, {});
  const scores: unknown[] = [];
  for (const { eventId, leaderboardId } of boards) {
    const path = eventId === null ? "" : `/events/${eventId}`;
    const url = `http://club.example/projects/${ids.project}${path}/leaderboards/${leaderboardId}`;
    const { data } = await (await platform.fetch(new Request(url))).json();
    scores.push(data.map(({ rank, score, userId }: Record<string, unknown>) => ({ rank, score, userId })));
  }
  const profile = await platform.loyalty.profile(member);
  const { ok } = await platform.loyalty.reconcile(member);
  const { differences } = await platform.loyalty.replay(member);
  assert.deepEqual([ok, differences], [true, []]);
  return {
    profile,
    history: history.map(({ type, payload }) => ({ type, payload })),
    scores,
    pool: await platform.loyalty.codePools.stats(pool),
    coupon: history.some(({ type }) => type === "couponReceived")
      ? (await platform.loyalty.coupon(member, "drink")).coupon_code
      : null,
    isTold: history
      .filter(({ type }) => events.includes(type))
      .every(({ id }) => [...delivered.keys()].some(key => key.endsWith(`:${id}`))),
  };
}

async function sweep({ clock }: Processes, platform: Platform): Promise<void> {
  clock.advance(registrationMs);
  await platform.work();
  await platform.idle();
  // A user who was due must not be processed again and again.
  const { processed: attended } = await platform.loyalty.sweep();
  assert.equal(attended, 0);
}

/** Lets a process die during the steps; answers how many of them it completed, and how many operations there were. */
async function live(
  world: Processes,
  death: Death | null,
): Promise<{ completed: number; operations: number }> {
  const store = createDyingStore(world.store);
  const platform = await world.process(store);
  store.dieAt(death ?? { at: Number.POSITIVE_INFINITY, when: "before" });
  let completed = 0;
  for (const step of steps) {
    const isDone = await platform.loyalty.report(member, step).then(
      () => true,
      () => false,
    );
    if (!isDone) break;
    completed += 1;
    await platform.idle();
  }
  await platform.idle();
  return { completed, operations: store.operations };
}

/** Deaths before an operation are left to memory in a long run, as most leave what a death after the one before it leaves. */
function deaths(operations: number, on: string): Death[] {
  const moments = isLongRun && on === "memory" ? (["before", "after"] as const) : (["after"] as const);
  const all = Array.from({ length: operations }, (_, at) => moments.map(when => ({ at, when }))).flat();
  return all.filter((_, index) => index % sampleSize(1, 2) === 0);
}

describeOnStores("a process that dies while a fan acts", (open, on) => {
  it("changes nothing for a fan who repeats what was not answered", async () => {
    await using calm = await openWorld(open);
    const { completed, operations } = await live(calm, null);
    assert.equal(completed, steps.length);
    const expected = await seen(calm, await calm.process(calm.store));
    for (const death of deaths(operations, on)) {
      await using world = await openWorld(open);
      const before = await live(world, death);
      const platform = await world.process(world.store);
      for (const step of steps.slice(before.completed)) await platform.loyalty.report(member, step);
      await sweep(world, platform);
      assert.deepEqual(await seen(world, platform), expected, `died ${death.when} operation ${death.at}`);
    }
  });

  it("leaves a fan who never comes back as if it had stopped between two actions", async () => {
    // The end after each number of actions, in a world without deaths.
    const ends: unknown[] = [];
    await using calm = await openWorld(open);
    const { operations } = await live(calm, null);
    for (let count = 0; count <= steps.length; count++) {
      await using world = await openWorld(open);
      const platform = await world.process(world.store);
      for (const step of steps.slice(0, count)) await platform.loyalty.report(member, step);
      await platform.idle();
      ends.push(await seen(world, platform));
    }
    for (const death of deaths(operations, on)) {
      await using world = await openWorld(open);
      const { completed } = await live(world, death);
      const platform = await world.process(world.store);
      await sweep(world, platform);
      const end = await seen(world, platform);
      const name = `died ${death.when} operation ${death.at}, after ${completed} actions`;
      // The action that was under way took effect as a whole or not at all.
      const possible = [ends[completed], ends[completed + 1]].filter(one => one !== undefined);
      const isPossible = possible.some(one => JSON.stringify(one) === JSON.stringify(end));
      if (!isPossible) assert.deepEqual(end, ends[completed], name);
    }
  });
});
