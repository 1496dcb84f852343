/** Building the index of users anew from stored records. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { spaceUserPartition } from "../../../lib/fans/loyalty/user/state.ts";
import { recordedUsersMax, userShardPartitions } from "../../../lib/fans/users/mod.ts";
import { buildUserIndex, createPlatform, silentLogger, type UserIndexProgress } from "../../../lib/mod.ts";
import type { PartitionLister, Store } from "../../../lib/storage/mod.ts";
import { externalIds, ids, openPlatform, type TestPlatform, testSecret } from "../../support/platform.ts";
import { describeOnStores, type OpenListingStore } from "../../support/stores.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";
import { buildPoints, foundIds, indexedSeed, makeUsers, pagesOf, plain } from "./_searched.ts";

const hourMs = 3_600_000;

interface World extends TestPlatform, AsyncDisposable {
  readonly store: Store & PartitionLister;
  readonly crm: BackEndCall;
}

async function openWorld(open: OpenListingStore): Promise<World> {
  const opened: (Store & PartitionLister)[] = [];
  const world = await openPlatform(
    async clock => {
      const store = await open(clock);
      opened.push(store);
      return store;
    },
    { seed: indexedSeed },
  );
  const [store] = opened;
  assert.ok(store !== undefined);
  const crm = await backEnd(world, ["users:read", "users:write"]);
  return { ...world, store, crm, [Symbol.asyncDispose]: world.dispose };
}

/** Takes away what lists users, as if it had never been there. */
async function forgetIndex({ store, platform }: World): Promise<void> {
  await platform.idle();
  for (const partition of userShardPartitions(ids.organisation)) {
    for (const key of ["created", "active", "metric:points"]) {
      const [{ entries }] = await store.read(partition, [{ type: "board", key, limit: 1_000 }]);
      for (const { member } of entries) {
        await store.commit(partition, { writes: [{ type: "unscore", key, member }] });
        const own = spaceUserPartition({ organisationId: ids.organisation, userId: member });
        await store.commit(own, { writes: [{ type: "delete", shape: "record", key: "account" }] });
      }
    }
  }
}

async function build(world: World): Promise<readonly UserIndexProgress[]> {
  const reported: UserIndexProgress[] = [];
  const { store, clock } = world;
  const { directory } = world.platform;
  const onProgress = (progress: UserIndexProgress): void => void reported.push(progress);
  const done = await buildUserIndex({ store, directory, clock: clock.now, onProgress });
  assert.deepEqual(reported.at(-1), done);
  return reported;
}

describeOnStores("an index of users that is built later", open => {
  it("lists users who signed up, at that time, and users who acted", async () => {
    await using world = await openWorld(open);
    const signedUpAt = world.clock.now();
    const [quiet, busy] = [await world.fan("Quiet"), await world.fan("Busy")];
    world.clock.advance(hourMs / 2);
    await busy.act("prediction", { outcome: "exact" });
    await world.crm("/v1/api/audience/internal/profiles/update-batch", {
      body: { updates: [{ userId: "crm:1", displayName: "Only known to a back end" }] },
    });
    const changedAt = world.clock.now();
    await forgetIndex(world);
    world.clock.advance(hourMs);
    assert.deepEqual(await foundIds(world.crm, {}), []);
    const reported = await build(world);
    assert.equal(reported.at(-1)?.listed, 3);
    assert.equal(reported.at(-1)?.metrics, 1);
    const fields = ["userId", "createdAt", "provider", "projectId"];
    const [page] = await pagesOf(world.crm, { fields, sort: [{ field: "createdAt" }] });
    const iso = (at: number): string => new Date(at).toISOString();
    const project = { provider: "noLogin", projectId: ids.project };
    const signedUp = { createdAt: iso(Math.floor(signedUpAt / 1_000) * 1_000), ...project };
    const byId = (left: { userId: string }, right: { userId: string }): number =>
      left.userId < right.userId ? -1 : 1;
    assert.deepEqual(
      page.data.toSorted(byId),
      [
        { userId: quiet.userId, ...signedUp },
        { userId: busy.userId, ...signedUp },
        { userId: "crm:1", createdAt: iso(changedAt), provider: null, projectId: null },
      ].toSorted(byId),
    );
    const few = { filter: { metrics: { points: { min: 3 } } }, sort: [{ field: "metrics.points" }] };
    assert.deepEqual(await foundIds(world.crm, few), [busy.userId]);
  });

  it("moves no listed user when it is built again, and lists missing ones", async () => {
    await using world = await openWorld(open);
    const first = await world.fan("First");
    await forgetIndex(world);
    await build(world);
    world.clock.advance(hourMs);
    const second = await world.fan("Second");
    await second.act("prediction", { outcome: "right" });
    const body = { fields: ["userId", "createdAt", "lastActiveAt"], sort: [{ field: "createdAt" }] };
    const [before] = await pagesOf(world.crm, body);
    assert.deepEqual(
      before.data.map(({ userId }: { userId: string }) => userId),
      [first.userId, second.userId],
    );
    world.clock.advance(hourMs);
    assert.equal((await build(world)).at(-1)?.listed, 0);
    assert.deepEqual((await pagesOf(world.crm, body))[0], before);
  });

  it("corrects the name of a user whose process died before the index knew it", async () => {
    await using world = await openWorld(open);
    const { userId } = await world.fan("Sam");
    await world.platform.work();
    world.clock.advance(1_000);
    // Written past the index, as by a process that dies right after.
    await new Users(world.store, testSecret).update(ids.project, userId, user => ({
      ...user,
      username: "Kim",
    }));
    assert.deepEqual(await foundIds(world.crm, { filter: { username: "Kim" } }), []);
    world.clock.advance(1_000);
    await build(world);
    assert.deepEqual(await foundIds(world.crm, { filter: { username: "Kim" } }), [userId]);
    assert.deepEqual(await foundIds(world.crm, { filter: { username: "Sam" } }), []);
  });

  it("omits removed users, also after an interrupted removal", async () => {
    await using world = await openWorld(open);
    const [gone, leaving] = [await world.fan("Gone"), await world.fan("Leaving")];
    const operator = await backEnd(world, ["users:write"]);
    const path = `/internal/identity/projects/${ids.project}/users`;
    const removed = await operator(`${path}/${gone.userId}`, { method: "DELETE" });
    assert.ok(removed.status < 300, removed.text);
    const note = JSON.stringify({ projectId: ids.project, removedAt: world.clock.now() });
    await world.store.commit(
      spaceUserPartition({ organisationId: ids.organisation, userId: leaving.userId }),
      {
        writes: [{ type: "put", key: "account", value: note }],
      },
    );
    await build(world);
    assert.deepEqual(await foundIds(world.crm, {}), []);
  });
});

describeOnStores("the last activity of users", open => {
  const anonymous = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
  const deviceId = "0f000000-0000-4000-8000-00000000000f";

  it("is updated by signing in, at most once an hour, and never prevents it", async () => {
    let isDown = false;
    await using world = await openWorld(async clock => {
      const store = await open(clock);
      const commit = store.commit.bind(store);
      store.commit = (partition, batch) =>
        isDown && partition.includes(":agenda:")
          ? Promise.reject(new Error("down"))
          : commit(partition, batch);
      return store;
    });
    const register = { ...anonymous, data: { deviceId, additionalId: "tv" } };
    const { externalId } = (await world.call("/v1/user", { body: register })).json.data;
    const signIn = async (): Promise<number> => {
      const body = { ...anonymous, data: { externalId, deviceId } };
      return (await world.call("/v1/user/login", { method: "PUT", body })).status;
    };
    const lastActiveAt = async (): Promise<number> => {
      const [page] = await pagesOf(world.crm, { fields: ["lastActiveAt"] });
      return Date.parse(page.data[0].lastActiveAt);
    };
    const began = world.clock.now();
    world.clock.advance(hourMs - 1);
    assert.equal(await signIn(), 200);
    assert.equal(await lastActiveAt(), began);
    world.clock.advance(1);
    isDown = true;
    assert.equal(await signIn(), 200);
    assert.equal(await lastActiveAt(), began);
    isDown = false;
    assert.equal(await signIn(), 200);
    assert.equal(await lastActiveAt(), began + hourMs);
    const filter = { activeAfter: new Date(began + hourMs).toISOString() };
    assert.equal((await foundIds(world.crm, { filter })).length, 1);
  });
});

describeOnStores("the provider of users", open => {
  it("can be searched since registration, and is corrected by a rebuild", async () => {
    await using world = await openWorld(open);
    const selector = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
    const deviceId = "0f000000-0000-4000-8000-00000000000e";
    const device = { ...selector, data: { deviceId, additionalId: "tv" } };
    const { userId, externalId } = (await world.call("/v1/user", { body: device })).json.data;
    const providers = async (): Promise<unknown> =>
      (await pagesOf(world.crm, { fields: ["userId", "provider"] }))[0].data;
    assert.deepEqual(await providers(), [{ userId, provider: "anonymous" }]);
    const data = { email: "ann@example.com", password: "a long and unusual password", externalId, deviceId };
    const body = { ...selector, strategy: "email", provider: "managedPool", data };
    assert.equal((await world.call("/v1/user", { body })).status, 201);
    assert.deepEqual(await providers(), [{ userId, provider: "managedPool" }]);
    const own = spaceUserPartition({ organisationId: ids.organisation, userId });
    const account = { projectId: ids.project, provider: "anonymous", name: "", createdAt: 1 };
    const stale = JSON.stringify({ ...account, removedAt: null });
    await world.store.commit(own, { writes: [{ type: "put", key: "account", value: stale }] });
    assert.deepEqual(await providers(), [{ userId, provider: "anonymous" }]);
    await build(world);
    assert.deepEqual(await providers(), [{ userId, provider: "managedPool" }]);
  });
});

describe("an index of users that is built later", () => {
  it("reports progress group by group and yields to other work", async () => {
    await using world = await openWorld(async clock => createMemoryStore({ clock }));
    const users = new Users(world.store, testSecret);
    const count = 20 * recordedUsersMax + 1;
    const nothing = { loginHistory: [], devices: [], appProfile: {}, username: "Robin", signUp: 1 };
    for (let n = 0; n < count; n++) {
      const userIds = externalIds.seal(`u${n}`, `x${n}`);
      await users.create(ids.project, { ...nothing, ...userIds, provider: "noLogin" });
    }
    let turns = 0;
    const timer = setInterval(() => void turns++, 0);
    const reported = await build(world);
    clearInterval(timer);
    assert.ok(turns > 0);
    const groups = Array.from({ length: 20 }, (_, n) => (n + 1) * recordedUsersMax);
    const listed = reported.map(progress => progress.listed).slice(0, groups.length + 1);
    assert.deepEqual(listed, [...groups, count]);
  });
});

describeOnStores("an indexed metric that the index could not take", open => {
  /** Changes a metric while the index is out of reach, and tells who is found by it, after some repair. */
  async function foundAfter(repair: (world: World) => Promise<unknown>): Promise<readonly string[]> {
    let isDown = false;
    await using world = await openWorld(async clock => {
      const store = await open(clock);
      const commit = store.commit.bind(store);
      store.commit = (partition, batch) =>
        isDown && batch.writes?.some(({ key }) => key === "metric:points") === true
          ? Promise.reject(new Error("down"))
          : commit(partition, batch);
      return store;
    });
    await makeUsers(world, world.crm, [{ ...plain("u1", world.clock.now()), points: 1 }]);
    await buildPoints(world);
    isDown = true;
    await makeUsers(world, world.crm, [{ ...plain("u1", world.clock.now()), points: 50 }]);
    const filter = { gte: [{ var: "metrics.points" }, 50] };
    assert.deepEqual(await foundIds(world.crm, { filter }), []);
    isDown = false;
    await repair(world);
    return await foundIds(world.crm, { filter });
  }

  it("is there after the next round of background work", async () => {
    const found = await foundAfter(async ({ platform }) => {
      await platform.work();
      await platform.idle();
    });
    assert.deepEqual(found, ["u1"]);
  });

  it("is there within an hour where the process died", async () => {
    const found = await foundAfter(async ({ store, clock }) => {
      const other = await createPlatform({
        store,
        secret: testSecret,
        clock: clock.now,
        logger: silentLogger,
      });
      clock.advance(hourMs);
      await other.work();
      await other.idle();
    });
    assert.deepEqual(found, ["u1"]);
  });

  it("is not looked for again by each sweep", async () => {
    const found = await foundAfter(async ({ platform, store, clock }) => {
      await platform.work();
      await platform.idle();
      const commits: string[] = [];
      const commit = store.commit.bind(store);
      store.commit = (partition, batch) => {
        if (batch.writes?.some(({ key }) => key === "metric:points") === true) commits.push(partition);
        return commit(partition, batch);
      };
      clock.advance(hourMs);
      await platform.work();
      await platform.idle();
      assert.deepEqual(commits, []);
    });
    assert.deepEqual(found, ["u1"]);
  });
});
