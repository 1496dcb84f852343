/** Anonymous users who came once and never again. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { type User, Users } from "../../lib/fans/identity/mod.ts";
import { IdleProjects } from "../../lib/fans/identity/removal/removals.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { backEnd, pointsOf } from "./audience/_back_end.ts";

const idleMsDefault = 30 * 24 * 3_600_000;
const idleSweepMax = 500;
const idleProjectsMax = 20;
const idleSweepEveryMs = 3_600_000;

const anonymous = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };

interface Guest {
  readonly userId: string;
  readonly externalId: string;
  readonly deviceId: string;
  readonly isNew: boolean;
}

describeOnStores("idle anonymous users", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function register(deviceId: string = randomUUID()): Promise<Guest> {
    const body = { ...anonymous, data: { deviceId, additionalId: "tv" } };
    const { json } = await world.call("/v1/user", { body });
    await world.platform.idle();
    return json.data;
  }
  async function login({ externalId, deviceId }: Guest): Promise<Answer> {
    const body = { ...anonymous, data: { externalId, deviceId } };
    const answer = await world.call("/v1/user/login", { method: "PUT", body });
    await world.platform.idle();
    return answer;
  }
  const sweep = () => world.platform.idleUsers.sweep(ids.project);
  const isKept = ({ userId }: Guest): Promise<boolean> =>
    world.platform.loyalty.isKept({ organisationId: ids.organisation, userId }, ids.project);
  async function listed(): Promise<string[]> {
    const found: string[] = [];
    for await (const { userId } of world.platform.loyalty.users(ids.organisation)) found.push(userId);
    return found;
  }
  const exists = async ({ userId }: Guest): Promise<boolean> =>
    (await new Users(world.store, testSecret).findById(ids.project, userId)) !== null;

  it("are removed once they have been idle for the time, and not a millisecond before", async () => {
    const guest = await register();
    world.clock.advance(idleMsDefault - 1);
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
    world.clock.advance(1);
    assert.deepEqual(await sweep(), { removed: 1, kept: 0, isPartial: false });
    assert.equal(await exists(guest), false);
    assert.equal((await login(guest)).status, 401);
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
  });

  it("leave their device free for a new user", async () => {
    const guest = await register();
    world.clock.advance(idleMsDefault);
    await sweep();
    const next = await register(guest.deviceId);
    assert.equal(next.isNew, true);
    assert.notEqual(next.userId, guest.userId);
    assert.notEqual(next.externalId, guest.externalId);
    assert.equal((await login(next)).status, 200);
  });

  it("are those who neither logged in nor registered again meanwhile", async () => {
    const [idle, back, again] = [await register(), await register(), await register()];
    world.clock.advance(idleMsDefault - 1_000);
    assert.equal((await login(back)).status, 200);
    assert.equal((await register(again.deviceId)).userId, again.userId);
    world.clock.advance(1_000);
    assert.deepEqual(await sweep(), { removed: 1, kept: 0, isPartial: false });
    assert.deepEqual(await Promise.all([idle, back, again].map(exists)), [false, true, true]);
    world.clock.advance(idleMsDefault);
    assert.equal((await sweep()).removed, 2);
  });

  it("are kept if they have points, and checked again after another idle time", async () => {
    const guest = await register();
    const record = { ...guest, isNew: undefined };
    const issued = await world.call("/api/auth/token", {
      body: { type: "sessionRecord", projectId: ids.project, record },
    });
    const token: string = issued.json.data.accessToken;
    const body = { action: "prediction", data: { outcome: "exact" } };
    assert.equal((await world.call("/api/loyalty/action", { token, body })).status, 200);
    world.clock.advance(idleMsDefault);
    assert.deepEqual(await sweep(), { removed: 0, kept: 1, isPartial: false });
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
    assert.equal((await login(guest)).status, 200);
    world.clock.advance(idleMsDefault);
    assert.deepEqual(await sweep(), { removed: 0, kept: 1, isPartial: false });
  });

  it("are removed if they only read their empty profile", async () => {
    const guest = await register();
    const record = { ...guest, isNew: undefined };
    const issued = await world.call("/api/auth/token", {
      body: { type: "sessionRecord", projectId: ids.project, record },
    });
    await world.call("/api/loyalty/profile", { token: issued.json.data.accessToken });
    world.clock.advance(idleMsDefault);
    assert.equal(await isKept(guest), true);
    assert.equal((await sweep()).removed, 1);
    assert.equal(await isKept(guest), false);
    assert.deepEqual(await listed(), []);
  });

  it("stay users where another process reports them while they are removed", async () => {
    const { userId } = await register();
    world.clock.advance(idleMsDefault);
    const { store } = world;
    let removed = 0;
    const commit: Store["commit"] = async (partition, batch) => {
      const isReport = batch.writes.some(({ type }) => type === "append") && partition.includes(userId);
      if (isReport && removed === 0) ({ removed } = await sweep());
      return store.commit(partition, batch);
    };
    const ports = {
      traits: store.traits,
      read: store.read.bind(store),
      ping: store.ping.bind(store),
      commit,
    };
    const other = await openPlatform(async () => ({ ...ports, [Symbol.asyncDispose]: async () => {} }), {
      startAt: world.clock.now(),
    });
    try {
      const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
      const report = { action: "prediction", data: { outcome: "exact" }, isClientReport: false };
      await other.platform.loyalty.report(user, report);
      assert.equal(removed, 1);
      assert.deepEqual(await listed(), []);
      await world.platform.loyalty.removeUnusedUser(user);
      assert.equal(await pointsOf(world, userId), 3);
      world.clock.advance(60_000);
      await world.platform.work();
      assert.deepEqual(await listed(), [userId]);
    } finally {
      await other.dispose();
    }
  });

  it("exclude users with credentials and merged users", async () => {
    const users = new Users(world.store, testSecret);
    const guests = [await register(), await register()];
    const changes: ((user: User) => User)[] = [
      user => ({ ...user, provider: "managedPool" }),
      user => ({ ...user, mergedInto: "somebody" }),
    ];
    for (const [index, change] of changes.entries()) {
      await users.update(ids.project, guests[index]?.userId ?? "", change);
    }
    world.clock.advance(idleMsDefault);
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
    assert.deepEqual(await Promise.all(guests.map(exists)), [true, true]);
  });

  it("take users with them who were merged into them", async () => {
    const [guest, other] = [await register(), await register()];
    const call = await backEnd(world, ["users:write"]);
    const path = `/internal/identity/projects/${ids.project}/users/${other.userId}/merge`;
    assert.equal((await call(path, { body: { into: guest.userId } })).status, 200);
    world.clock.advance(idleMsDefault);
    assert.equal((await sweep()).removed, 1);
    assert.deepEqual(await Promise.all([guest, other].map(exists)), [false, false]);
  });

  it("are removed by a later sweep after an interrupted one", async () => {
    const guest = await register();
    await new Users(world.store, testSecret).update(ids.project, guest.userId, user => ({
      ...user,
      isRetired: true,
    }));
    assert.equal((await login(guest)).status, 401);
    const next = await register(guest.deviceId);
    assert.notEqual(next.userId, guest.userId);
    world.clock.advance(idleMsDefault);
    assert.equal((await sweep()).removed, 2);
    assert.equal(await exists(guest), false);
  });

  it("are not confused with users who return at the same moment", async () => {
    const guests = await Promise.all(Array.from({ length: 24 }, () => register()));
    world.clock.advance(idleMsDefault);
    const [answers] = await Promise.all([Promise.all(guests.map(login)), sweep(), sweep()]);
    await sweep();
    for (const [index, answer] of answers.entries()) {
      const guest = guests[index];
      assert.ok(guest !== undefined);
      assert.equal(await exists(guest), answer.status === 200, String(answer.status));
      if (answer.status === 401) assert.equal((await register(guest.deviceId)).isNew, true);
    }
  });

  it("are examined up to a bound in one sweep, which reports that there may be more", async () => {
    const { idleUsers } = world.platform;
    const many = Array.from({ length: idleSweepMax + 1 }, () => randomUUID());
    await Promise.all(many.map(userId => idleUsers.noteActivity(ids.project, userId)));
    world.clock.advance(idleMsDefault);
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: true });
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
  });

  it("are removed by background work, each project once an hour, and at once after a partial sweep", async () => {
    const guest = await register();
    world.clock.advance(idleMsDefault - idleSweepEveryMs);
    await world.platform.work();
    world.clock.advance(idleSweepEveryMs - 1);
    const late = await register();
    await world.platform.work();
    assert.equal(await exists(guest), true, "not idle yet");
    world.clock.advance(1);
    await world.platform.work();
    assert.deepEqual(await Promise.all([guest, late].map(exists)), [false, true]);

    const many = Array.from({ length: idleSweepMax }, () => randomUUID());
    await Promise.all(many.map(userId => world.platform.idleUsers.noteActivity(ids.project, userId)));
    world.clock.advance(idleMsDefault);
    await world.platform.work();
    await world.platform.work();
    assert.equal(await exists(late), false);
    assert.deepEqual(await sweep(), { removed: 0, kept: 0, isPartial: false });
  });

  it("wait for their turn among many projects, and for no failing one", async () => {
    const swept: string[] = [];
    const { store, clock } = world;
    const projects = new IdleProjects(store, clock.now);
    const sweepDue = (): Promise<void> =>
      projects.sweepDue(async projectId => {
        swept.push(projectId);
        if (projectId === "p0") throw new Error("out of reach");
        return { isPartial: false };
      });
    const all = Array.from({ length: idleProjectsMax + 5 }, (_, n) => `p${n}`);
    for (const projectId of all) {
      await projects.list(projectId);
      clock.advance(1);
    }
    await assert.rejects(sweepDue(), /out of reach/);
    await sweepDue();
    assert.deepEqual(swept, all.slice(0, 1 + idleProjectsMax));
    await sweepDue();
    assert.deepEqual(swept, all);
    clock.advance(idleSweepEveryMs);
    await assert.rejects(sweepDue(), /out of reach/);
    assert.equal(swept.length, all.length + 1);
  });

  it("are those of the project that is swept", async () => {
    await register();
    world.clock.advance(idleMsDefault);
    const other = await world.platform.idleUsers.sweep(ids.otherProject);
    assert.deepEqual(other, { removed: 0, kept: 0, isPartial: false });
    assert.equal(
      (await world.platform.idleUsers.sweep(ids.project, { idleMs: idleMsDefault + 1 })).removed,
      0,
    );
    assert.equal((await sweep()).removed, 1);
  });
});
