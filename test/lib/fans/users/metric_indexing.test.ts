import assert from "node:assert/strict";
import { it } from "node:test";
import {
  activityWrites,
  buildDeclaredIndexes,
  buildIndex,
  listingWrites,
  MetricIndexing,
  metricIndex,
  type UserMetrics,
  usableIndexes,
  userBoards,
  userIndexPartition,
  userShardOf,
  usersInRange,
} from "../../../../lib/fans/users/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases } from "../../../support/stores.ts";

const organisationId = "0a000000-0000-4000-8000-000000000001";
const settings = { audience: { indexes: ["metrics.points", "metrics.a/b"] } };
const everything = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };

function indexingOf(store: Store, clock: () => number, errors: unknown[] = []): MetricIndexing {
  return new MetricIndexing({
    store,
    clock,
    metricsOf: async () => null,
    directory: {
      organisation: id => ({ id, name: "Club", settings: id === organisationId ? settings : {} }),
    },
    onGivenUp: error => errors.push(error),
    waitingMax: 501,
  });
}

async function shownValue(store: Store, userId: string, metricId = "points"): Promise<unknown> {
  const key = userBoards.metric(metricId);
  const [standing] = await store.read(userIndexPartition(organisationId, userId), [
    { type: "standing", key, member: userId },
  ]);
  return standing === null ? null : [standing.score, standing.tie];
}

function deliver(
  indexing: MetricIndexing,
  state: UserMetrics,
  { userId = "u1", ...organisation } = { organisationId, userId: "u1" },
): Promise<boolean> {
  return new Promise(resolve => indexing.deliver({ userId, ...organisation }, state, resolve));
}

/** Counts commits, and fails them while it is down. */
function watched(store: Store): Store & { commits: number; isDown: boolean } {
  const watching = Object.assign(Object.create(store) as Store, {
    commits: 0,
    isDown: false,
    async commit(...parameters: Parameters<Store["commit"]>) {
      watching.commits += 1;
      if (watching.isDown) throw new Error("down");
      return await store.commit(...parameters);
    },
  });
  return watching;
}

describeOnDatabases("the indexing of metrics", open => {
  it("writes the declared metrics of a user, and nothing where none are declared", async () => {
    const clock = createTestClock(1_000);
    await using store = await open(clock.now);
    const watching = watched(store);
    const indexing = indexingOf(watching, clock.now);
    const state = { revision: 1, metrics: { points: 3, coins: 4 } };
    assert.equal(await deliver(indexing, state, { organisationId: "other", userId: "u1" }), true);
    assert.equal(watching.commits, 0);
    assert.equal(await deliver(indexing, state), true);
    assert.deepEqual(
      [
        await shownValue(store, "u1"),
        await shownValue(store, "u1", "a/b"),
        await shownValue(store, "u1", "coins"),
      ],
      [[3, 1_000], null, null],
    );
  });

  it("writes values as of a revision, so that late and repeated ones change nothing", async () => {
    const clock = createTestClock(1_000);
    await using store = await open(clock.now);
    const indexing = indexingOf(store, clock.now);
    assert.equal(await deliver(indexing, { revision: 2, metrics: { points: 5, "a/b": 1 } }), true);
    const first = [await shownValue(store, "u1"), await shownValue(store, "u1", "a/b")];
    assert.deepEqual(first, [
      [5, 1_000],
      [1, 1_000],
    ]);
    clock.advance(10);
    await deliver(indexing, { revision: 2, metrics: { points: 5 } });
    await deliver(indexing, { revision: 1, metrics: { points: 3 } });
    await deliver(indexing, { revision: 3, metrics: { points: 5 } });
    assert.deepEqual(await shownValue(store, "u1"), [5, 1_000]);
    await deliver(indexing, { revision: 4, metrics: { points: 4 } });
    assert.deepEqual(await shownValue(store, "u1"), [4, 1_010]);
  });

  it("gives up after three attempts and says so", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const errors: unknown[] = [];
    const watching = watched(store);
    const indexing = indexingOf(watching, clock.now, errors);
    watching.isDown = true;
    assert.equal(await deliver(indexing, { revision: 1, metrics: { points: 1 } }), false);
    assert.deepEqual([watching.commits, errors.length], [3, 1]);
  });

  it("writes many users in one commit, and refuses more than may wait", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const watching = watched(store);
    const indexing = indexingOf(watching, clock.now);
    const ids: string[] = [];
    for (let n = 0; ids.length < 501; n++) if (userShardOf(`u${n}`) === 5) ids.push(`u${n}`);
    const state = { revision: 1, metrics: { points: 1 } };
    const answers = ids.map(userId => deliver(indexing, state, { organisationId, userId }));
    assert.equal(await deliver(indexing, state), false);
    assert.deepEqual([...new Set(await Promise.all(answers))], [true]);
    await indexing.idle();
    assert.equal(watching.commits, 2);
  });
});

describeOnDatabases("an index that is declared later", open => {
  it("is built from records while users change, and complete only then", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const values = new Map(Array.from({ length: 600 }, (_, n) => [`u${n}`, n]));
    for (const userId of values.keys()) {
      await store.commit(userIndexPartition(organisationId, userId), {
        writes: [...listingWrites(userId, clock.now()), ...activityWrites(userId, clock.now())],
      });
    }
    const indexing = indexingOf(store, clock.now);
    let hasRaced = false;
    const source = { store, clock: clock.now };
    const index = metricIndex(
      async ({ userId }) => {
        const value = values.get(userId) ?? 0;
        if (userId === "u7" && !hasRaced) {
          hasRaced = true;
          // The change is faster than the builder, who has read the value before.
          await deliver(
            indexing,
            { revision: 2, metrics: { points: 1_007 } },
            { organisationId, userId: "u7" },
          );
        }
        return userId === "u9" ? null : { revision: 1, metrics: { points: value } };
      },
      { organisationId, metricId: "points" },
    );
    const declared = { metrics: ["points", "a/b"], fields: [] };
    const usable = async () => [...(await usableIndexes(store, organisationId, declared)).boards];
    assert.deepEqual(await usable(), [userBoards.name]);
    assert.equal(await buildIndex(source, index), values.size);
    assert.deepEqual(await usable(), [userBoards.name, userBoards.metric("points")]);
    for (const [userId, value] of values) {
      const expected = userId === "u9" ? null : userId === "u7" ? 1_007 : value;
      const found = (await shownValue(store, userId)) as readonly number[] | null;
      assert.equal(found?.[0] ?? null, expected, userId);
    }
    const [first] = await usersInRange(store, userIndexPartition(organisationId, "u0"), {
      key: userBoards.metric("points"),
      ...everything,
    });
    assert.ok(first);
  });

  it("is built automatically once every process has read the settings", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const source = { store, clock: clock.now };
    const points = [metricIndex(async () => null, { organisationId, metricId: "points" })];
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
    clock.advance(4_999);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
    clock.advance(1);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 1);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
  });
});
