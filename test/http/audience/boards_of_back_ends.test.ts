/** Boards of users whom back ends report, whatever the users themselves do or leave. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { spaceUserPartition } from "../../../lib/fans/loyalty/user/state.ts";
import { parseState } from "../../../lib/fans/loyalty/user/stored_state.ts";
import { createPlatform, type Platform, silentLogger } from "../../../lib/mod.ts";
import type { PartitionLister, Store } from "../../../lib/storage/mod.ts";
import { tenantPartitions } from "../../../lib/storage/names.ts";
import { createDyingStore, moments } from "../../support/dying_store.ts";
import { ids, openPlatform, seed, type TestPlatform, testSecret } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";

const app = "0c000000-0000-4000-8000-000000000003";
const appEvent = "0d000000-0000-4000-8000-000000000003";
const source = { type: "metric", metricId: "points" };
const settings = {
  leaderboards: [
    { id: "overall", source },
    { id: "daily", source, seasons: { type: "daily", timeZone: "UTC" } },
    { id: "predictions", source: { type: "action", action: "prediction" } },
  ],
  eventLeaderboards: [{ id: "round_1", source }],
};
const [club, ...others] = seed.projects;
if (club === undefined) throw new Error("The seed has no project");
const withBoards = { ...club, settings: { ...club.settings, ...settings } };
const boardsSeed: typeof seed = {
  ...seed,
  projects: [withBoards, { ...withBoards, id: app, name: "Second app" }, ...others],
  events: [
    ...(seed.events ?? []),
    { id: appEvent, projectId: app, name: "Derby", state: "current", startAt: 1_750_000_000 },
  ],
};

const actionsPath = "/v1/api/audience/internal/actions/bulk";
const rewardsPath = "/v1/api/audience/internal/rewards/bulk";
const exact = (eventId: string = ids.event) => ({
  action: "prediction",
  data: { outcome: "exact", eventId },
});
const reward = { type: "metric", metricId: "points", amount: 4 };

interface World {
  readonly world: TestPlatform;
  readonly call: BackEndCall;
  /** Signs a noLogin user up, who then does nothing. */
  signUp(projectId?: string): Promise<string>;
  /** The scores of a user on the boards of a project and its event; null where there is no entry. */
  scoresOf(userId: string, projectId?: string): Promise<Readonly<Record<string, number | null>>>;
}

async function openWorld(open: OpenStore, t: { after(end: () => Promise<void>): void }): Promise<World> {
  const world = await openPlatform(open, { seed: boardsSeed });
  t.after(() => world.dispose());
  const call = await backEnd(world);
  return {
    world,
    call,
    async signUp(projectId = ids.project) {
      const body = { projectId, strategy: "simplified", provider: "noLogin", data: { username: "Sam" } };
      return (await world.call("/v1/user", { body })).json.data.userId;
    },
    async scoresOf(userId, projectId = ids.project) {
      await world.platform.idle();
      const eventId = projectId === app ? appEvent : ids.event;
      const boards = ["overall", "daily", "predictions"].map(id => [id, `leaderboards/${id}`]);
      const scores: Record<string, number | null> = {};
      for (const [id = "", path] of [...boards, ["round_1", `events/${eventId}/leaderboards/round_1`]]) {
        const { status, json } = await world.call(`/projects/${projectId}/${path}/users/${userId}`);
        scores[id] = status === 200 ? json.data.score : null;
      }
      return scores;
    },
  };
}

async function openProcess(
  { store, clock }: Pick<TestPlatform, "store" | "clock">,
  t: { after(end: () => Promise<void>): void },
): Promise<Platform> {
  const options = {
    store,
    secret: testSecret,
    clock: clock.now,
    defaultSpaceId: ids.space,
    limiter: "off",
  } as const;
  const platform = await createPlatform({ ...options, logger: silentLogger });
  t.after(() => platform.close());
  return platform;
}

const nowhere = { overall: null, daily: null, predictions: null, round_1: null };

describeOnStores("boards of users whom back ends report", open => {
  it("show a user who signed up, from the first action and reward on", async t => {
    const { call, signUp, scoresOf } = await openWorld(open, t);
    const [first, second, rewarded] = [await signUp(), await signUp(app), await signUp()];
    const actions = [
      { userId: first, ...exact() },
      { userId: second, ...exact(appEvent) },
      { userId: first, ...exact() },
    ];
    assert.equal((await call(actionsPath, { body: { actions } })).status, 202);
    const rewards = [
      { userId: rewarded, ...reward },
      { userId: first, ...reward },
    ];
    assert.equal((await call(rewardsPath, { body: { rewards } })).json.data.summary.succeeded, 2);
    assert.deepEqual(await scoresOf(first), { overall: 10, daily: 10, predictions: 2, round_1: 6 });
    assert.deepEqual(await scoresOf(rewarded), { overall: 4, daily: 4, predictions: null, round_1: null });
    // Each project has boards of its own.
    assert.deepEqual(await scoresOf(second, app), { overall: 3, daily: 3, predictions: 1, round_1: 3 });
    assert.deepEqual([await scoresOf(second), await scoresOf(first, app)], [nowhere, nowhere]);
    // The batch convention, with a service token too.
    const batch = await call("/api/audience/actions", {
      method: "PUT",
      body: [{ user_id: rewarded, data: exact() }],
    });
    assert.equal(batch.status, 202);
    assert.deepEqual(await scoresOf(rewarded), { overall: 7, daily: 7, predictions: 1, round_1: 3 });
  });

  it("show a user of a back end's own in the project that it names", async t => {
    const { call, signUp, scoresOf } = await openWorld(open, t);
    const actions = [{ userId: "crm-1", projectId: app.toUpperCase(), ...exact(appEvent) }];
    assert.equal((await call(actionsPath, { body: { actions } })).status, 202);
    const rewards = [{ user_id: "crm-2", data: { projectId: app, ...reward } }];
    assert.equal((await call("/api/audience/rewards", { method: "PUT", body: rewards })).status, 200);
    assert.deepEqual(await scoresOf("crm-1", app), { overall: 3, daily: 3, predictions: 1, round_1: 3 });
    assert.deepEqual(await scoresOf("crm-2", app), {
      overall: 4,
      daily: 4,
      predictions: null,
      round_1: null,
    });
    // From then on it need not be named.
    await call(actionsPath, { body: { actions: [{ userId: "crm-2", ...exact(appEvent) }] } });
    assert.deepEqual(await scoresOf("crm-2", app), { overall: 7, daily: 7, predictions: 1, round_1: 3 });
    // Where a user signed up wins over what a back end names, also before the user's first action.
    const userId = await signUp();
    const results = await call(rewardsPath, {
      body: {
        rewards: [
          { userId, projectId: app, ...reward },
          { userId, ...reward },
        ],
      },
    });
    const [refused, granted] = results.json.data.results;
    assert.deepEqual(
      [refused.status, refused.error.code, refused.error.pointer],
      ["failed", "validation_failed", "/projectId"],
    );
    assert.equal(granted.status, "succeeded");
    assert.equal((await scoresOf(userId)).overall, 4);
  });

  it("refuse a request that names a project of another space, with every such item", async t => {
    const { world, call, scoresOf } = await openWorld(open, t);
    const others = [ids.otherProject, "0c000000-0000-4000-8000-00000000dead", "app", 7];
    const actions = [
      { userId: "crm-1", ...exact() },
      ...others.map(projectId => ({ userId: "crm-1", projectId, ...exact() })),
    ];
    const refusedActions = await call(actionsPath, { body: { actions } });
    const rewards = [
      { userId: "crm-1", ...reward },
      ...others.map(projectId => ({ userId: "crm-1", projectId, ...reward })),
    ];
    const refusedRewards = await call(rewardsPath, { body: { rewards: rewards.slice(0, 4) } });
    const pointersOf = ({ json }: typeof refusedActions) =>
      json.errors.map(({ pointer }: { pointer: string }) => pointer);
    assert.deepEqual([refusedActions.status, refusedRewards.status], [400, 400]);
    assert.deepEqual(
      pointersOf(refusedActions),
      [1, 2, 3, 4].map(n => `/actions/${n}/projectId`),
    );
    assert.deepEqual(
      pointersOf(refusedRewards),
      [1, 2, 3].map(n => `/rewards/${n}/projectId`),
    );
    const one = await call("/v1/api/audience/internal/actions", { body: actions[1] });
    assert.deepEqual([one.status, pointersOf(one)], [400, ["/projectId"]]);
    const fan = await world.fan("Sam");
    const own = await world.call("/api/audience/actions", {
      token: fan.token,
      headers: { "x-platform-org-id": ids.organisation },
      body: { projectId: ids.project, ...exact() },
    });
    assert.deepEqual([own.status, pointersOf(own)], [400, ["/projectId"]]);
    assert.deepEqual(await scoresOf("crm-1"), nowhere);
  });

  it("show what a user earned before a project was named, as if it had been known", async t => {
    const { world, call, scoresOf } = await openWorld(open, t);
    const play = async (userId: string, projectId?: string): Promise<void> => {
      const named = projectId === undefined ? {} : { projectId };
      for (const one of [exact(), { action: "prediction", data: { outcome: "right" } }]) {
        await call(actionsPath, { body: { actions: [{ userId, ...named, ...one }] } });
        world.clock.advance(1_000);
      }
      await call(rewardsPath, { body: { rewards: [{ userId, ...named, ...reward }] } });
    };
    await play("late");
    await play("early", ids.project);
    assert.deepEqual(await scoresOf("late"), nowhere);
    await call(actionsPath, {
      body: { actions: [{ userId: "late", projectId: ids.project, action: "rest" }] },
    });
    const expected = { overall: 8, daily: 8, predictions: 2, round_1: 3 };
    assert.deepEqual([await scoresOf("late"), await scoresOf("early")], [expected, expected]);
    await call(actionsPath, { body: { actions: ["late", "early"].map(userId => ({ userId, ...exact() })) } });
    // Three points, and ten of the challenge of three predictions.
    const further = { overall: 21, daily: 21, predictions: 3, round_1: 16 };
    assert.deepEqual([await scoresOf("late"), await scoresOf("early")], [further, further]);
    // Among equal scores, who reached the total first leads: the replay keeps the times.
    const { json } = await world.call(`/projects/${ids.project}/leaderboards/predictions`);
    assert.equal(json.data.length, 2);
  });

  it("show what a registered user earned while no project was on record, whoever brings it", async t => {
    const { world, call, signUp, scoresOf } = await openWorld(open, t);
    // As stored by releases that did not look for the sign-up: points, and no project.
    const forgetProject = async (userId: string): Promise<void> => {
      const partition = spaceUserPartition({ organisationId: ids.organisation, userId });
      const [stored] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
      const { projectId: _, sums: __, undelivered: ___, ...state } = JSON.parse(stored?.value ?? "{}");
      await world.store.commit(partition, {
        writes: [{ type: "put", key: "loyalty", value: JSON.stringify(state) }],
      });
      assert.equal(parseState(JSON.stringify(state)).projectId, null);
      await world.platform.leaderboards.removeUser(ids.project, userId);
    };
    const [acting, reading, swept] = [await signUp(), await signUp(), await world.fan("Sam")];
    const userIds = [acting, reading, swept.userId];
    await call(actionsPath, { body: { actions: userIds.map(userId => ({ userId, ...exact() })) } });
    await world.platform.idle();
    for (const userId of userIds) await forgetProject(userId);
    assert.deepEqual(await scoresOf(acting), nowhere);
    // Another process, which remembers nothing of them.
    const other = await openProcess(world, t);
    const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: null };
    await other.loyalty.grant(
      { ...user, userId: acting },
      { rewards: [{ type: "metric", metricId: "points", metricQuantity: 4 }], reason: "" },
    );
    await other.loyalty.processDueUser({ ...user, userId: reading });
    await other.loyalty.profile({ ...user, userId: swept.userId, projectId: ids.project });
    await other.idle();
    assert.deepEqual(await scoresOf(acting), { overall: 7, daily: 7, predictions: 1, round_1: 3 });
    const expected = { overall: 3, daily: 3, predictions: 1, round_1: 3 };
    assert.deepEqual([await scoresOf(reading), await scoresOf(swept.userId)], [expected, expected]);
    await forgetProject(reading);
    assert.deepEqual(await scoresOf(reading), nowhere);
    await other.rebuildBoard({ projectId: ids.project, eventId: null, leaderboardId: "overall" });
    await other.idle();
    assert.deepEqual(await scoresOf(reading), expected);
  });

  it("miss nothing that is earned while the project becomes known, in two processes", async t => {
    const { world, scoresOf } = await openWorld(open, t);
    const other = await openProcess(world, t);
    const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId: "crm-1" };
    const report = { ...exact(), isClientReport: false };
    await world.platform.loyalty.reportAll(
      user,
      Array.from({ length: 20 }, () => report),
    );
    await Promise.all(
      [world.platform, other].map(async ({ loyalty }) => {
        for (let n = 0; n < 10; n++) {
          const projectId = n === 5 ? ids.project : undefined;
          await loyalty.report(user, { ...report, projectId });
        }
      }),
    );
    await other.idle();
    const { overall, daily, predictions, round_1 } = await scoresOf("crm-1");
    assert.deepEqual([overall, daily, predictions, round_1], [130, 130, 40, 130]);
  });

  it("show every user whose sign-up a process began and did not end", async t => {
    const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
    const { world, call, scoresOf } = await openWorld(open, t);
    for (let at = 0, isOver = false; !isOver; at++) {
      for (const when of moments) {
        const store = createDyingStore(world.store);
        const process = await openProcess({ ...world, store }, t);
        store.dieAt({ at, when });
        const body = JSON.stringify({ ...selector, data: { username: "Sam" } });
        const headers = { "content-type": "application/json" };
        await process.fetch(new Request("http://club.example/v1/user", { method: "POST", headers, body }));
        isOver = !store.isDead;
      }
    }
    const userIds: string[] = [];
    for await (const page of tenantPartitions(world.store as Store & PartitionLister, {
      tenant: "project",
      record: "user",
    })) {
      for (const {
        kind,
        ids: [userId = ""],
      } of page)
        if (kind === "user") userIds.push(userId);
    }
    assert.ok(userIds.length >= 2, `${userIds.length}`);
    await call(rewardsPath, { body: { rewards: userIds.map(userId => ({ userId, ...reward })) } });
    for (const userId of userIds) assert.equal((await scoresOf(userId)).overall, 4);
  });
});
