/** External ids are capabilities, which the store must not reveal. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { forge } from "../support/issuer.ts";
import { type Answer, ids, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { backEnd } from "./audience/_back_end.ts";
import { searchPath } from "./audience/_searched.ts";
import { anonymous, deviceId, Pool, pool } from "./managed_pool/_pool.ts";

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const otherSecret = new MasterSecret("another master secret for tests, as long as the first");
const userRead = { type: "record", key: "user" } as const;

/** Calls of users and back ends, each of which must succeed. */
class Desk {
  readonly pool: Pool;

  constructor(opened: Pool) {
    this.pool = opened;
  }

  async call(...request: Parameters<Pool["world"]["call"]>): Promise<Answer["json"]> {
    const { status, text, json } = await this.pool.world.call(...request);
    assert.ok(status < 300, `${status} ${text}`);
    return json.data;
  }

  register(username: string): Promise<Answer["json"]> {
    return this.call("/v1/user", { body: { ...noLogin, data: { username } } });
  }

  registerDevice(additionalId: string): Promise<Answer["json"]> {
    return this.call("/v1/user", { body: { ...anonymous, data: { deviceId, additionalId } } });
  }

  exchange({ signup, signUp = signup, ...more }: Answer["json"]): Promise<Answer> {
    const { userId, externalId, timeStamp, signature } = more;
    const record = { userId, externalId, timeStamp, signature, signUp, deviceId: more.deviceId };
    const body = { type: "sessionRecord", projectId: ids.project, record };
    return this.pool.world.call("/api/auth/token", { body });
  }

  logIn(externalId: string): Promise<Answer> {
    return this.pool.world.call("/v1/user/login", {
      method: "PUT",
      body: { ...noLogin, data: { externalId } },
    });
  }

  async found(externalId: string): Promise<readonly string[]> {
    const crm = await backEnd(this.pool.world, ["users:read"]);
    const { status, text, json } = await crm(searchPath, { body: { filter: { externalId } } });
    assert.equal(status, 200, text);
    return json.data.map(({ userId }: { userId: string }) => userId);
  }
}

/** Everything that lookups of users read: the names of partitions, and the records of users and keys in them. */
async function lookupsIn(store: Store & PartitionLister): Promise<string> {
  const lines: string[] = [];
  for await (const partitions of store.partitions({ prefix: "p:", record: "user" })) {
    for (const partition of partitions) {
      const [record] = await store.read(partition, [userRead]);
      if (record !== null) lines.push(`${partition} ${record.value}`);
    }
  }
  return lines.join("\n");
}

function assertNone(text: string, externalIds: readonly string[]): void {
  for (const externalId of externalIds) {
    const at = text.indexOf(externalId);
    assert.ok(at < 0, text.slice(Math.max(0, at - 200), at + 100));
  }
}

describeOnStores("external ids", open => {
  async function openDesk(): Promise<{ desk: Desk; store: Store & PartitionLister; watched: WatchedStore }> {
    let store: (Store & PartitionLister) | undefined;
    let watched: WatchedStore | undefined;
    const opened = await Pool.open(async clock => {
      store = await open(clock);
      watched = new WatchedStore(store);
      return watched;
    });
    assert.ok(store !== undefined && watched !== undefined);
    return { desk: new Desk(opened), store, watched };
  }

  it("are in no key and no value that is ever written", async t => {
    const { desk, watched } = await openDesk();
    t.after(() => desk.pool.dispose());
    const { world } = desk.pool;
    const secrets: string[] = [];
    const note = <T extends { readonly externalId: string }>(user: T): T => {
      secrets.push(user.externalId);
      return user;
    };
    const robin = note(await desk.register("Robin"));
    assert.equal((await desk.exchange(robin)).status, 200);
    note((await desk.logIn(robin.externalId)).json.data);
    const put = {
      method: "PUT",
      body: { ...noLogin, externalId: robin.externalId, data: { appProfile: {} } },
    };
    await desk.call("/v1/user", put);
    assert.deepEqual(await desk.found(robin.externalId), [robin.userId]);
    const [promoted, merged] = [note(await desk.registerDevice("a")), note(await desk.registerDevice("b"))];
    const pairOf = ({ externalId }: Answer["json"]) => ({ externalId, deviceId });
    await desk.pool.register("promoted@example.com", pairOf(promoted));
    note(await desk.pool.member("fan@example.com"));
    const login = await desk.pool.login("fan@example.com", { ...pairOf(merged), deviceId });
    const { accessToken } = note(login.json.data);
    await world.platform.idle();
    assert.equal(desk.pool.merges.length, 1);
    await desk.pool.update(accessToken, { email: "fan@example.org" });
    const hosted = { ...pool, provider: "hostedIdp", deviceId };
    const token = forge(world.login.key, world.login.claims(world.clock.now()));
    await desk.call(`/v1/user/check?${new URLSearchParams(hosted)}`, { token });
    const change = { method: "PUT", token, body: { ...hosted, data: { username: "Kim" } } };
    note(await desk.call("/v1/user", change));
    const query = new URLSearchParams({ ...noLogin, externalId: robin.externalId });
    await desk.call(`/v1/user?${query}`, { method: "DELETE" });
    await world.platform.idle();
    await world.platform.work();
    assert.ok(new Set(secrets).size >= 5 && watched.changes.length > 20);
    assertNone(JSON.stringify(watched.commits), secrets);
  });

  it("find and prove their users in as many reads as before", async t => {
    const { desk, watched } = await openDesk();
    t.after(() => desk.pool.dispose());
    const robin = await desk.register("Robin");
    await desk.exchange(robin);
    async function readsOf(run: () => Promise<unknown>): Promise<number> {
      await desk.pool.world.platform.idle();
      watched.reads.length = 0;
      await run();
      return watched.reads.length;
    }
    const query = new URLSearchParams({ ...noLogin, externalId: robin.externalId });
    assert.equal(await readsOf(() => desk.call(`/v1/user?${query}`)), 2);
    assert.equal(await readsOf(() => desk.exchange(robin)), 1);
  });

  it("are found and opened under their own secret alone, and digests are no external ids", async t => {
    const { desk, store } = await openDesk();
    t.after(() => desk.pool.dispose());
    const { userId, externalId } = await desk.register("Robin");
    const [right, wrong] = [new Users(store, testSecret), new Users(store, otherSecret)];
    const key = { kind: "external", externalId } as const;
    assert.equal((await right.findByKey(ids.project, key))?.userId, userId);
    assert.equal(await wrong.findByKey(ids.project, key), null);
    const user = await wrong.findById(ids.project, userId);
    assert.ok(user !== null);
    await assert.rejects(() => wrong.externalIdOf(user));
    await assert.rejects(() => right.externalIdOf({ ...user, userId: deviceId }));
    const [, digest = ""] = /:external:([\w-]{43}) /.exec(await lookupsIn(store)) ?? [];
    assert.notEqual(digest, "");
    assert.equal((await desk.logIn(digest)).status, 404);
    assert.equal((await desk.logIn(user.sealedId)).status, 404);
  });
});
