/** Searches while users come, change and go, and what a page may cost. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { userBoards } from "../../../lib/fans/users/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { type WatchedStore, watching } from "../../support/watched_store.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";
import { buildPoints, foundIds, indexedSeed, makeUsers, pagesOf, plain, searchPath } from "./_searched.ts";

const hourMs = 3_600_000;
const counts = { users: 130, changed: 40 } as const;

describeOnStores("a search of users who change", open => {
  let world: TestPlatform;
  let crm: BackEndCall;
  let store: WatchedStore;
  const isKept = (n: number): boolean => n % 3 !== 0;

  before(async () => {
    const watched = watching(open, opened => {
      store = opened;
    });
    world = await openPlatform(watched, { seed: indexedSeed });
    crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
    await buildPoints(world);
    for (let n = 0; n < counts.users; n += 10) {
      const at = world.clock.now();
      const batch = Array.from({ length: 10 }, (_, m) => ({
        ...plain(`u${n + m}`, at),
        points: 10 * (n + m) + 1,
      }));
      await makeUsers(world, crm, batch);
      world.clock.advance(60_000);
    }
    // Changes from now on count as activity of another hour.
    world.clock.advance(hourMs);
  });
  after(() => world.dispose());

  /** Gives some users other points and makes new ones, as a busy evening does between two pages. */
  async function stir(page: number): Promise<void> {
    world.clock.advance(hourMs);
    const at = world.clock.now();
    const changed = Array.from({ length: counts.changed }, (_, n) => (n + 7 * page) % counts.users)
      .filter(n => !isKept(n))
      .map(n => ({ ...plain(`u${n}`, at), points: 1 + ((n * 7_919 + page * 104_729) % 5_000) }));
    await makeUsers(world, crm, [...changed, { ...plain(`new-${page}-${at}`, at), points: 17 }]);
  }

  it("examines only users of a small range of an index, and returns those who stay in it once", async () => {
    const filter = { metrics: { points: { min: 1_001 } } };
    store.reads.length = 0;
    assert.equal((await foundIds(crm, { filter, limit: 100 })).length, 30);
    assert.equal(store.reads.filter(partition => partition.includes(":loyalty:")).length, 30);
    const found = await foundIds(crm, { filter, limit: 3 }, stir);
    assert.equal(new Set(found).size, found.length);
    for (let n = 100; n < counts.users; n++) if (isKept(n)) assert.ok(found.includes(`u${n}`), `u${n}`);
  });

  it("returns every user who exists throughout exactly once, unordered and by creation", async () => {
    const bodies = [
      { limit: 13 },
      { limit: 13, filter: { metrics: { points: { min: 1 } } } },
      { limit: 13, sort: [{ field: "createdAt", order: "asc" }] },
      { limit: 13, sort: [{ field: "createdAt", order: "desc" }] },
    ];
    for (const body of bodies) {
      const found = await foundIds(crm, body, stir);
      assert.equal(new Set(found).size, found.length, JSON.stringify(body));
      const missing = Array.from({ length: counts.users }, (_, n) => `u${n}`).filter(
        id => !found.includes(id),
      );
      assert.deepEqual(missing, [], JSON.stringify(body));
    }
  });

  it("returns no user twice and every unmoved user once, in orders whose values change", async () => {
    for (const field of ["metrics.points", "lastActiveAt"]) {
      for (const order of ["asc", "desc"]) {
        const found = await foundIds(crm, { limit: 13, sort: [{ field, order }] }, stir);
        assert.equal(new Set(found).size, found.length, `${field} ${order}`);
        const stayed = Array.from({ length: counts.users }, (_, n) => n).filter(isKept);
        const missing = stayed.map(n => `u${n}`).filter(id => !found.includes(id));
        assert.deepEqual(missing, [], `${field} ${order}`);
      }
    }
  });

  it("does not return a user who no longer matches", async () => {
    const filter = { metrics: { points: { min: 100_000 } } };
    await makeUsers(world, crm, [
      { ...plain("rich-1", 0), points: 100_001 },
      { ...plain("rich-2", 0), points: 100_002 },
    ]);
    assert.deepEqual((await foundIds(crm, { filter })).toSorted(), ["rich-1", "rich-2"]);
    await makeUsers(world, crm, [{ ...plain("rich-1", 0), points: 5 }]);
    assert.deepEqual(await foundIds(crm, { filter }), ["rich-2"]);
    const byPoints = { filter, sort: [{ field: "metrics.points", order: "desc" }] };
    assert.deepEqual(await foundIds(crm, byPoints), ["rich-2"]);
  });

  it("walks over every user exactly once for exports, with a cursor that another process continues", async () => {
    const criteria = { spaceId: ids.space, fields: ["userId", "metrics.points"] };
    const found: unknown[] = [];
    let cursor: string | null = null;
    let examined = 0;
    for (let page = 1; page === 1 || cursor !== null; page++) {
      const search = await world.platform.users.search.compile(ids.organisation, criteria);
      const part = await search.printedPage({ cursor, limit: 20 });
      assert.ok(part.examined <= 20);
      found.push(...part.rows.map(([userId = ""]) => JSON.parse(userId)));
      examined += part.examined;
      cursor = part.cursor;
      await stir(page);
    }
    assert.equal(new Set(found).size, found.length);
    assert.equal(examined, found.length);
    for (let n = 0; n < counts.users; n++) assert.ok(found.includes(`u${n}`), `u${n}`);
    const search = await world.platform.users.search.compile(ids.organisation, criteria);
    assert.ok((await search.estimate()) >= found.length);
    assert.deepEqual(search.fields, [
      { name: "userId", kind: "string" },
      { name: "metrics.points", kind: "number" },
    ]);
  });
});

describeOnStores("the index of users", open => {
  it("receives missed entries by the sweep, which marks no user as active", async () => {
    let isDown = false;
    const failing = watching(open, store => {
      const commit = store.commit.bind(store);
      store.commit = (partition, batch) => {
        const feeds = batch.writes.some(({ key }) => key === userBoards.metric("points"));
        return isDown && feeds ? Promise.reject(new Error("down")) : commit(partition, batch);
      };
    });
    const world = await openPlatform(failing, { seed: indexedSeed });
    const crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
    await buildPoints(world);
    const at = world.clock.now();
    isDown = true;
    await makeUsers(world, crm, [{ ...plain("late", at), points: 50 }]);
    isDown = false;
    const filter = { metrics: { points: { min: 50 } } };
    const byPoints = { filter, sort: [{ field: "metrics.points" }] };
    assert.deepEqual(await foundIds(crm, byPoints), []);
    for (let hour = 1; hour <= 3; hour++) {
      world.clock.advance(hourMs);
      await world.platform.work();
      await world.platform.idle();
    }
    assert.deepEqual(await foundIds(crm, byPoints), ["late"]);
    const [user] = (await pagesOf(crm, { filter })).flatMap(({ data }) => data);
    assert.deepEqual([user.createdAt, user.lastActiveAt], Array(2).fill(new Date(at).toISOString()));
    await world.dispose();
  });

  it("lists users before they are stored, and a search skips those that never were", async () => {
    let isDown = false;
    const failing = watching(open, store => {
      const commit = store.commit.bind(store);
      store.commit = (partition, batch) =>
        isDown && !partition.includes(":agenda:") && partition !== "g:agenda"
          ? Promise.reject(new Error("down"))
          : commit(partition, batch);
    });
    const world = await openPlatform(failing, { seed: indexedSeed });
    const crm = await backEnd(world, ["users:read"]);
    isDown = true;
    const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
    const failed = await world.call("/v1/user", { body: { ...selector, data: { username: "Sam" } } });
    assert.equal(failed.status, 500);
    isDown = false;
    const search = await world.platform.users.search.compile(ids.organisation, { spaceId: ids.space });
    // The refusal waits for no write that goes on beside the one that failed.
    await until("the user is listed", async () => (await search.estimate()) === 1);
    assert.deepEqual(await foundIds(crm, {}), []);
    await world.dispose();
  });
});

// In memory alone, as creating so many users takes long.
describe("a long page of a search", () => {
  const openMemory = async (clock: () => number) => createMemoryStore({ clock });

  it("ends after 2,000 examined users and says so", async () => {
    const world = await openPlatform(openMemory, { seed: indexedSeed });
    const crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
    const total = 2_000 + 500;
    for (let n = 0; n < total; n += 500) {
      await makeUsers(
        world,
        crm,
        Array.from({ length: 500 }, (_, m) => plain(`u${n + m}`, 0)),
      );
    }
    const pages = await pagesOf(crm, { filter: { displayName: "nobody" } });
    assert.deepEqual(
      pages.map(({ data, truncated }) => [data.length, truncated]),
      [
        [0, true],
        [0, false],
      ],
    );
    await world.dispose();
  });
});

describeOnStores("a page of a search", open => {
  it("ends after 250 ms and can be continued", async () => {
    const clocks: { advance?: (ms: number) => void } = {};
    let isSlow = false;
    const world = await openPlatform(
      watching(open, store => {
        const read = store.read.bind(store);
        store.read = (partition, queries) => {
          if (isSlow && partition.includes(":loyalty:")) clocks.advance?.(250);
          return read(partition, queries);
        };
      }),
      { seed: indexedSeed },
    );
    clocks.advance = world.clock.advance;
    const crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
    await makeUsers(
      world,
      crm,
      Array.from({ length: 200 }, (_, n) => plain(`u${n}`, 0)),
    );
    isSlow = true;
    const { json } = await crm(searchPath, { body: { filter: { displayName: "nobody" } } });
    assert.deepEqual([json.data, json.truncated, typeof json.lastEvaluatedKey], [[], true, "string"]);
    isSlow = false;
    const rest = await crm(searchPath, {
      body: { filter: { displayName: "nobody" }, lastEvaluatedKey: json.lastEvaluatedKey },
    });
    assert.equal(rest.json.lastEvaluatedKey, null);
    await world.dispose();
  });
});
