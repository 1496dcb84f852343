/** Finding a known person: by e-mail, external id and name, at the surface. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import type { Seed } from "../../../lib/fans/directory/mod.ts";
import { userBoards, userIndexPartition } from "../../../lib/fans/users/mod.ts";
import type { Batch, Commit, Read, Results } from "../../../lib/storage/mod.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { WatchedStore } from "../../support/watched_store.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";
import { searchPath } from "./_searched.ts";

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const pool = { projectId: ids.project, strategy: "email", provider: "managedPool" };
const profilePath = "/v1/api/audience/internal/profiles/update-batch";

/** Counts the reads that wait for each other: those of one round trip begin while another one is under way. */
class TripStore extends WatchedStore {
  trips = 0;
  /** The record after whose write the store is out of reach; null for none. */
  diesAfter: string | null = null;
  #isDead = false;
  #running = 0;

  override async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    if (this.#running === 0) this.trips += 1;
    this.#running += 1;
    try {
      return await super.read(partition, queries);
    } finally {
      this.#running -= 1;
    }
  }

  override async commit(partition: string, batch: Batch): Promise<Commit> {
    if (this.diesAfter === null) this.#isDead = false;
    if (this.#isDead) throw new Error("The process has died");
    const commit = await super.commit(partition, batch);
    this.#isDead = batch.writes?.some(({ key }) => key === this.diesAfter) === true;
    return commit;
  }
}

/** The common seed with indexes of custom fields. */
const indexedFields: Seed = {
  ...seed,
  organisations: seed.organisations.map(organisation => {
    const audience = organisation.settings?.audience as object | undefined;
    const indexes = ["customFields.shirt", "customFields.goals"];
    return { ...organisation, settings: { audience: { ...audience, indexes } } };
  }),
};

interface World extends TestPlatform {
  readonly crm: BackEndCall;
  readonly stores: readonly TripStore[];
}

async function openWorld(open: OpenStore): Promise<World> {
  const stores: TripStore[] = [];
  const world = await openPlatform(
    async clock => {
      const store = new TripStore(await open(clock));
      stores.push(store);
      return store;
    },
    { seed: indexedFields },
  );
  return { ...world, stores, crm: await backEnd(world, ["users:read", "users:write"]) };
}

async function register(world: TestPlatform, username: string): Promise<Answer["json"]> {
  const { status, json } = await world.call("/v1/user", { body: { ...noLogin, data: { username } } });
  assert.equal(status, 200);
  return json.data;
}

async function found({ crm }: World, filter: object, more: object = {}): Promise<Answer["json"]> {
  const { status, text, json } = await crm(searchPath, { body: { filter, ...more } });
  assert.equal(status, 200, text);
  return json;
}

async function foundIds(world: World, filter: object): Promise<readonly string[]> {
  const { data } = await found(world, filter);
  return data.map(({ userId }: { userId: string }) => userId).toSorted();
}

describeOnStores("a back end that looks for a known person", open => {
  it("finds an account by its e-mail in any case, in three round trips, and by the new one after a change", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const data = { email: "sam@example.com", password: "correct horse battery", nickname: "Sam" };
    await world.call("/v1/user", { body: { ...pool, data } });
    await world.call("/v1/user", { body: { ...pool, data: { ...data, email: "kim@example.com" } } });
    const login = await world.call("/v1/user/login", { method: "PUT", body: { ...pool, data } });
    const { userId, accessToken } = login.json.data;
    assert.deepEqual(await foundIds(world, { email: "Sam@Example.com" }), [userId]);
    const [store] = world.stores;
    assert.ok(store !== undefined);
    store.trips = 0;
    assert.deepEqual(await foundIds(world, { email: "sam@example.com" }), [userId]);
    assert.ok(store.trips <= 3, `${store.trips} round trips`);
    const change = { email: "sam@example.org", currentPassword: data.password };
    const changed = await world.call("/v1/user", {
      method: "PUT",
      body: { ...pool, data: change },
      token: accessToken,
    });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual(await foundIds(world, { email: "sam@example.com" }), []);
    assert.deepEqual(await foundIds(world, { email: "sam@example.org" }), [userId]);
  });

  it("finds a user by the external id, and by no part of it", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const { userId, externalId } = await register(world, "Sam");
    assert.deepEqual(await foundIds(world, { externalId }), [userId]);
    assert.deepEqual(await foundIds(world, { externalId: externalId.slice(1) }), []);
    assert.deepEqual(await foundIds(world, { externalId, username: "Kim" }), []);
    assert.deepEqual(await foundIds(world, { externalId, userIds: [randomUUID()] }), []);
  });

  it("finds users by the whole registered name, however it is spelt, with and without the index", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const samanthas = [await register(world, "Samantha  Ｋerr"), await register(world, "samantha kerr")];
    await register(world, "Samantha");
    const expected = samanthas.map(({ userId }) => userId).toSorted();
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await foundIds(world, { username: "SAMANTHA KERR" }), expected);
      const exact = { eq: [{ var: "username" }, "samantha kerr"] };
      assert.deepEqual(await foundIds(world, exact), [samanthas[1]?.userId]);
      await world.platform.work();
    }
  });

  it("reads few users for a rare name among many once the index is complete", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const { userId } = await register(world, "Rare");
    for (let n = 0; n < 40; n++) await register(world, `Fan ${n % 3}`);
    await world.platform.work();
    await foundIds(world, { username: "rare" });
    // What was begun for the fans meanwhile reads them, too.
    await world.platform.idle();
    const [store] = world.stores;
    assert.ok(store !== undefined);
    const before = store.reads.length;
    assert.deepEqual(await foundIds(world, { username: "rare" }), [userId]);
    const users = store.reads.slice(before).filter(partition => partition.includes(":loyalty:"));
    assert.equal(users.length, 1);
  });

  it("shows the registered name of users without a display name, and one time of creation everywhere", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const { userId } = await register(world, "Sam");
    world.clock.advance(86_400_000);
    const profile = async (): Promise<Answer["json"]> =>
      (await world.crm(`/v1/api/audience/internal/profiles?user_ids=${userId}`)).json.users[0].data;
    const searched = async (): Promise<Answer["json"]> => (await found(world, { userIds: [userId] })).data[0];
    assert.deepEqual([(await profile()).displayName, (await searched()).displayName], ["Sam", "Sam"]);
    const updates = [{ userId, customFields: { shirt: "M" } }];
    const { json } = await world.crm(profilePath, { body: { updates } });
    assert.equal(json.data.summary.failed, 0);
    const [shown, listed] = [await profile(), await searched()];
    assert.deepEqual([shown.displayName, listed.displayName], ["Sam", "Sam"]);
    assert.equal(shown.createdAt, listed.createdAt);
    await world.crm(profilePath, { body: { updates: [{ userId, displayName: "Sammy" }] } });
    assert.deepEqual([(await profile()).displayName, (await searched()).displayName], ["Sammy", "Sammy"]);
    assert.deepEqual((await found(world, { displayName: "amm" })).data.length, 1);
  });

  it("shows the time of the first report of users without an account everywhere", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const reporter = await backEnd(world);
    const userId = "crm:1";
    const reportedAt = new Date(world.clock.now()).toISOString();
    const actions = [{ userId, action: "prediction", data: { outcome: "exact" } }];
    const bulk = await reporter("/v1/api/audience/internal/actions/bulk", { body: { actions } });
    assert.equal(bulk.status, 202, bulk.text);
    await world.platform.work();
    await world.platform.idle();
    const times = async (): Promise<unknown> => {
      const path = `/v1/api/audience/internal/profiles?user_ids=${userId}`;
      const { data } = (await world.crm(path)).json.users[0];
      return [data.createdAt, (await found(world, { userIds: [userId] })).data[0].createdAt];
    };
    world.clock.advance(86_400_000);
    assert.deepEqual(await times(), [reportedAt, reportedAt], "without a profile");
    const { json } = await world.crm(profilePath, { body: { updates: [{ userId, displayName: "Sam" }] } });
    assert.equal(json.data.summary.failed, 0);
    assert.deepEqual(await times(), [reportedAt, reportedAt], "with a profile");
  });

  it("finds a renamed user by the new name after a login, although the process died before the index knew it", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const data = { email: "sam@example.com", password: "correct horse battery", nickname: "Sam" };
    await world.call("/v1/user", { body: { ...pool, data } });
    const login = (): Promise<Answer> =>
      world.call("/v1/user/login", { method: "PUT", body: { ...pool, data } });
    const { userId, accessToken: token } = (await login()).json.data;
    const [store] = world.stores;
    assert.ok(store !== undefined);
    store.diesAfter = "name";
    const body = { ...pool, data: { nickname: "Kim" } };
    assert.equal((await world.call("/v1/user", { method: "PUT", body, token })).status, 200);
    await world.platform.idle();
    store.diesAfter = null;
    assert.deepEqual(await foundIds(world, { username: "Kim" }), [], "the process died before");
    assert.equal((await login()).status, 200);
    assert.deepEqual(await foundIds(world, { username: "Kim" }), [userId]);
    assert.deepEqual(await foundIds(world, { username: "Sam" }), []);
  });

  it("never finds users of another organisation", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const { externalId } = await register(world, "Sam");
    const other = await backEnd(world, ["users:read"], ids.otherOrganisation);
    for (const filter of [{ externalId }, { username: "Sam" }]) {
      const { status, json } = await other(searchPath, {
        body: { filter },
        headers: { host: "other.example" },
      });
      assert.deepEqual([status, json.data], [200, []]);
    }
  });

  it("finds users by an indexed custom field, before, during and after its index is built", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const change = async (updates: readonly object[]): Promise<void> => {
      const { json } = await world.crm(profilePath, { body: { updates } });
      assert.equal(json.data.summary.failed, 0);
    };
    const shirts = { eq: [{ var: "customFields.shirt" }, "L"] };
    const goals = { gte: [{ var: "customFields.goals" }, 7] };
    const update = (n: number, customFields: object): object => ({ userId: `u${n}`, customFields });
    await change(
      Array.from({ length: 90 }, (_, n) => update(n, { shirt: n === 7 ? "L" : "M", goals: n % 9 })),
    );
    assert.deepEqual(await foundIds(world, shirts), ["u7"]);
    await world.platform.work();
    world.clock.advance(5_000);
    await change([update(8, { shirt: "L" })]);
    await world.platform.work();
    const [store] = world.stores;
    assert.ok(store !== undefined);
    const before = store.reads.length;
    assert.deepEqual(await foundIds(world, shirts), ["u7", "u8"]);
    assert.equal(store.reads.slice(before).filter(partition => partition.includes(":loyalty:")).length, 2);
    assert.equal((await foundIds(world, goals)).length, 20);
    await change([update(7, { shirt: null }), update(9, { shirt: "L", goals: 40 })]);
    assert.deepEqual(await foundIds(world, shirts), ["u8", "u9"]);
    assert.deepEqual(await foundIds(world, { gte: [{ var: "customFields.goals" }, 30] }), ["u9"]);
  });

  it("finds by a custom field whose update a dying process did not finish", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    await register(world, "Sam");
    await world.platform.work();
    world.clock.advance(5_000);
    await world.platform.work();
    const [store] = world.stores;
    assert.ok(store !== undefined);
    const updates = Array.from({ length: 9 }, (_, n) => ({ userId: `u${n}`, customFields: { shirt: "M" } }));
    await world.crm(profilePath, { body: { updates } });
    store.diesAfter = "profile";
    const changed = { updates: [{ userId: "u1", customFields: { shirt: "L" } }] };
    const { json } = await world.crm(profilePath, { body: changed });
    // The profile has changed, so the update must not be answered as failed.
    assert.deepEqual([json.data.summary.succeeded, json.data.summary.failed], [1, 0]);
    store.diesAfter = null;
    world.clock.advance(61_000);
    await world.platform.work();
    assert.deepEqual(await foundIds(world, { eq: [{ var: "customFields.shirt" }, "L"] }), ["u1"]);
  });

  it("has nothing of a deleted user in any index", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    const { userId, externalId } = await register(world, "Sam");
    const updates = [{ userId, customFields: { shirt: "L", goals: 3 } }];
    const { json } = await world.crm(profilePath, { body: { updates } });
    assert.equal(json.data.summary.failed, 0);
    const [store] = world.stores;
    assert.ok(store !== undefined);
    const listed = async (): Promise<readonly string[]> => {
      const partition = userIndexPartition(ids.organisation, userId);
      const keys = ["created", "active", "name", userBoards.field("shirt"), userBoards.field("goals")];
      const queries = keys.map(key => ({ type: "standing", key, member: userId }) as const);
      const found = await store.read(partition, queries);
      return keys.filter((_, index) => found[index] !== null);
    };
    assert.equal((await listed()).length, 5);
    const removed = await world.call(`/v1/user?${new URLSearchParams({ ...noLogin, externalId })}`, {
      method: "DELETE",
    });
    assert.equal(removed.status, 200, removed.text);
    assert.deepEqual(await listed(), []);
  });

  it("counts the users that match if asked to", async t => {
    const world = await openWorld(open);
    t.after(() => world.dispose());
    for (let n = 0; n < 12; n++) await register(world, `Fan ${n % 3}`);
    assert.equal((await found(world, {}, { includeTotal: true, limit: 5 })).totalCount, 12);
    const page = await found(world, { username: "fan 1" }, { includeTotal: true, limit: 1 });
    assert.deepEqual([page.data.length, page.totalCount], [1, 4]);
    assert.equal("totalCount" in (await found(world, {})), false);
  });
});
