import assert from "node:assert/strict";
import { it } from "node:test";
import type { ScoreFeed, ScoreUpdate } from "../../../../lib/fans/leaderboards/scores/score_feed.ts";
import {
  activityWrites,
  buildDeclaredIndexes,
  buildMetricIndex,
  type IndexedScoreFeed,
  indexMetrics,
  listingWrites,
  type MetricIndexSource,
  metricMark,
  usableIndexes,
  userBoards,
  userIndexPartition,
  userShardOf,
  usersInRange,
} from "../../../../lib/fans/users/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnStores } from "../../../support/stores.ts";

const organisationId = "0a000000-0000-4000-8000-000000000001";
const settings = { audience: { indexes: ["metrics.points", "metrics.a/b"] } };
const query = { organisationId, action: "cheer", eventId: null, at: 0 };
const everything = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };

interface Boards extends ScoreFeed {
  readonly taken: ScoreUpdate[];
  answer: "delivered" | "givenUp";
}

function boardsOf(): Boards {
  const boards: Boards = {
    taken: [],
    answer: "delivered",
    targets: () => [{ id: "asc/p//overall", kind: "total", metricId: "points" }],
    deliver(_, updates, delivered, givenUp) {
      boards.taken.push(...updates);
      if (boards.answer === "delivered") delivered();
      else givenUp?.();
    },
  };
  return boards;
}

function feedOf(
  store: Store,
  clock: () => number,
  boards: ScoreFeed = boardsOf(),
  errors: unknown[] = [],
  metricsOf: MetricIndexSource["metricsOf"] = async () => null,
): IndexedScoreFeed {
  return indexMetrics({
    store,
    clock,
    metricsOf,
    boards,
    directory: {
      organisation: id => ({ id, name: "Club", settings: id === organisationId ? settings : {} }),
    },
    onGivenUp: error => errors.push(error),
    waitingMax: 1_000,
  });
}

async function shownValue(store: Store, userId: string, metricId = "points"): Promise<unknown> {
  const key = userBoards.metric(metricId);
  const [standing] = await store.read(userIndexPartition(organisationId, userId), [
    { type: "standing", key, member: userId },
  ]);
  return standing === null ? null : [standing.score, standing.tie];
}

async function targetIds(feed: IndexedScoreFeed): Promise<readonly string[]> {
  const targets = await feed.targets(null, query);
  return targets.filter(({ id }) => id.startsWith("users/")).map(({ id }) => id);
}

function deliver(feed: IndexedScoreFeed, updates: readonly ScoreUpdate[], userId = "u1"): Promise<string> {
  return new Promise(resolve => {
    feed.deliver(
      userId,
      updates,
      () => resolve("delivered"),
      () => resolve("givenUp"),
    );
  });
}

describeOnStores("the indexing of metrics", open => {
  it("adds the declared metrics to the boards of a change, and nothing where none are declared", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const feed = feedOf(store, clock.now);
    const targets = await feed.targets("p", query);
    assert.deepEqual(
      targets.map(target => [target.kind, target.kind === "total" ? target.metricId : ""]),
      [
        ["total", "points"],
        ["total", "points"],
        ["total", "a/b"],
      ],
    );
    const others = await feed.targets("p", { ...query, organisationId: "other" });
    assert.deepEqual(
      others.map(({ id }) => id),
      ["asc/p//overall"],
    );
  });

  it("writes values as of a revision, so that late and repeated ones change nothing", async () => {
    const clock = createTestClock(1_000);
    await using store = await open(clock.now);
    const feed = feedOf(store, clock.now);
    const [target = "", other = ""] = await targetIds(feed);
    const update = (score: number, asOf: number): ScoreUpdate => ({ target, score, at: 0, asOf });
    assert.equal(await deliver(feed, [update(5, 2), { ...update(1, 2), target: other }]), "delivered");
    assert.deepEqual(
      [await shownValue(store, "u1"), await shownValue(store, "u1", "a/b")],
      [
        [5, 1_000],
        [1, 1_000],
      ],
    );
    clock.advance(10);
    await deliver(feed, [update(5, 2)]);
    await deliver(feed, [update(3, 1)]);
    assert.deepEqual(await shownValue(store, "u1"), [5, 1_000]);
    await deliver(feed, [update(4, 3)]);
    assert.deepEqual(await shownValue(store, "u1"), [4, 1_010]);
  });

  it("confirms when index and boards have it, and gives up if one of them fails", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const boards = boardsOf();
    const errors: unknown[] = [];
    let isDown = false;
    let attempts = 0;
    const failing = Object.assign(Object.create(store) as Store, {
      async commit(...parameters: Parameters<Store["commit"]>) {
        if (!isDown) return await store.commit(...parameters);
        attempts += 1;
        throw new Error("down");
      },
    });
    const feed = feedOf(failing, clock.now, boards, errors);
    const [target = ""] = await targetIds(feed);
    const both = [
      { target: "asc/p//overall", score: 1, at: 0, asOf: 1 },
      { target, score: 1, at: 0, asOf: 1 },
    ];
    assert.equal(await deliver(feed, both), "delivered");
    assert.deepEqual(
      boards.taken.map(update => update.target),
      ["asc/p//overall"],
    );
    boards.answer = "givenUp";
    assert.equal(await deliver(feed, both), "givenUp");
    boards.answer = "delivered";
    isDown = true;
    assert.equal(await deliver(feed, both), "givenUp");
    assert.deepEqual([attempts, errors.length], [3, 1]);
  });

  it("writes many users in one commit, and refuses more than may wait", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    let commits = 0;
    const counting = Object.assign(Object.create(store) as Store, {
      async commit(...parameters: Parameters<Store["commit"]>) {
        commits += 1;
        return await store.commit(...parameters);
      },
    });
    const feed = feedOf(counting, clock.now);
    const [target = ""] = await targetIds(feed);
    const ids: string[] = [];
    for (let n = 0; ids.length < 501; n++) if (userShardOf(`u${n}`) === 5) ids.push(`u${n}`);
    const answers = ids.map(userId => deliver(feed, [{ target, score: 1, at: 0, asOf: 1 }], userId));
    const tooMany = Array.from({ length: 1_000 }, () => ({ target, score: 1, at: 0, asOf: 1 }));
    assert.equal(await deliver(feed, tooMany), "givenUp");
    assert.deepEqual([...new Set(await Promise.all(answers))], ["delivered"]);
    await feed.idle();
    assert.equal(commits, 2);
  });
});

describeOnStores("an index that is declared later", open => {
  it("is built from records while users change, and complete only then", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const values = new Map(Array.from({ length: 600 }, (_, n) => [`u${n}`, n]));
    for (const userId of values.keys()) {
      await store.commit(userIndexPartition(organisationId, userId), {
        writes: [...listingWrites(userId, clock.now()), ...activityWrites(userId, clock.now())],
      });
    }
    const feed = feedOf(store, clock.now);
    const [target = ""] = await targetIds(feed);
    let hasRaced = false;
    const source: MetricIndexSource = {
      store,
      clock: clock.now,
      async metricsOf({ userId }) {
        const value = values.get(userId) ?? 0;
        if (userId === "u7" && !hasRaced) {
          hasRaced = true;
          // The feed is faster than the builder, who has read the value before.
          await deliver(feed, [{ target, score: 1_007, at: 0, asOf: 2 }], "u7");
        }
        return userId === "u9" ? null : { revision: 1, metrics: { points: value } };
      },
    };
    assert.equal(
      (await usableIndexes(store, organisationId, { metrics: ["points"], fields: [] })).metrics.size,
      0,
    );
    assert.equal(await buildMetricIndex(source, { organisationId, metricId: "points" }), values.size);
    assert.deepEqual(
      [...(await usableIndexes(store, organisationId, { metrics: ["points", "a/b"], fields: [] })).metrics],
      ["points"],
    );
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
    const source: MetricIndexSource = { store, clock: clock.now, metricsOf: async () => null };
    const index = { organisationId, metricId: "points" };
    const points = [{ marks: metricMark("points"), build: () => buildMetricIndex(source, index) }];
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
    clock.advance(4_999);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
    clock.advance(1);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 1);
    assert.equal(await buildDeclaredIndexes(source, organisationId, points), 0);
  });
});
