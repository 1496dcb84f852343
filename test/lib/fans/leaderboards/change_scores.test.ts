import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { readAround, readRanking, readUserEntry } from "../../../../lib/fans/leaderboards/ranking/ranking.ts";
import type { BoardChange } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import { changeScores } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import type { BoardLocation } from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";
import { scoreMax } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";
import type { Partition, Read, Results, Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases, type OpenStore } from "../../../support/stores.ts";
import { WatchedStore } from "../../../support/watched_store.ts";
import { NaiveBoard } from "./_naive_board.ts";

const plain: BoardLocation = { order: "desc", rankStyle: "competition", isGuarded: false, shards: ["plain"] };
const spread: BoardLocation = { ...plain, shards: ["s:0", "s:1", "s:2", "s:3"] };
const dense: BoardLocation = { ...plain, rankStyle: "dense", isGuarded: true, shards: ["dense"] };
const set = (userId: string, score: number, at = 1): BoardChange => ({ userId, operator: "set", score, at });
const users = (count: number): BoardChange[] =>
  Array.from({ length: count }, (_, user) => set(`u${user}`, user % 7));
const isBusy = (error: unknown): boolean => error instanceof AppError && error.code === "busy";

/** Does something after each read that `when` names. */
class DisturbedStore extends WatchedStore {
  disturbances = 0;
  when: (queries: readonly Read[]) => boolean = () => false;
  disturb: (count: number) => Promise<unknown> = async () => {};

  override async read<const Q extends readonly Read[]>(
    partition: Partition,
    queries: Q,
  ): Promise<Results<Q>> {
    const results = await super.read(partition, queries);
    if (this.when(queries)) await this.disturb(++this.disturbances);
    return results;
  }
}

async function opened(
  open: OpenStore,
  t: { after(end: () => Promise<void>): void },
): Promise<{ readonly store: Store; readonly watched: DisturbedStore }> {
  const store = await open(createTestClock().now);
  t.after(async () => store[Symbol.asyncDispose]());
  return { store, watched: new DisturbedStore(store) };
}

describeOnDatabases("changes of a board", open => {
  it("go in commits of a bounded size, shard by shard, and dense ones in bounded decisions", async t => {
    const { watched } = await opened(open, t);
    await changeScores(watched, plain, users(1_001));
    assert.deepEqual(
      watched.commits.map(({ batch }) => batch.writes.length),
      [500, 500, 1],
    );
    watched.commits.length = 0;
    await changeScores(watched, spread, users(100));
    assert.deepEqual(watched.commits.map(({ partition }) => partition).sort(), spread.shards);
    watched.commits.length = 0;
    await changeScores(watched, dense, users(201));
    assert.equal(watched.commits.length, 3);
    assert.equal((await readRanking(watched, dense, { limit: 1, include: [] })).totalCount, 201);
  });

  it("write nothing if nothing changes", async t => {
    const { watched } = await opened(open, t);
    await changeScores(watched, dense, users(10));
    watched.commits.length = 0;
    assert.deepEqual(await changeScores(watched, dense, [set("u1", 1, 99)]), [1]);
    assert.deepEqual(await changeScores(watched, dense, [{ userId: "nobody", operator: "remove" }]), [null]);
    for (const location of [plain, spread, dense])
      assert.deepEqual(await changeScores(watched, location, []), []);
    assert.deepEqual(watched.commits, []);
  });

  it("skip fed scores outside the bounds, and keep the previous score", async t => {
    const { store } = await opened(open, t);
    const location: BoardLocation = { ...plain, bounds: { min: 0, max: 10 } };
    assert.deepEqual(
      await changeScores(store, location, [set("a", 7), set("b", 11), set("a", -1), set("c", 10)]),
      [7, null, null, 10],
    );
    const { entries: shown } = await readRanking(store, location, { limit: 10, include: [] });
    assert.deepEqual(
      shown.map(({ userId, score }) => [userId, score]),
      [
        ["c", 10],
        ["a", 7],
      ],
    );
  });

  it("refuse sums beyond the safe integers, guarded or not", async t => {
    const { store } = await opened(open, t);
    for (const location of [plain, dense]) {
      const most: BoardChange = { userId: "a", operator: "sum", score: scoreMax, at: 1 };
      await changeScores(store, location, [most]);
      const refused = changeScores(store, location, [most]);
      await assert.rejects(refused, error => error instanceof AppError && error.code === "conflict");
      assert.equal((await readUserEntry(store, location, "a"))?.entry.score, scoreMax);
    }
  });

  it("keep dense ranks exact while several processes change the same users", async t => {
    const { store } = await opened(open, t);
    // Decisions queue per store object, so that these two race as two processes do.
    const processes = [new WatchedStore(store), new WatchedStore(store)];
    const random = createRandom(9);
    const changes = Array.from({ length: 160 }, (_, index): BoardChange => {
      const userId = `u${random.integer(6)}`;
      if (random.chance(0.2)) return { userId, operator: "remove" };
      return { userId, operator: random.pick(["set", "sum"] as const), score: random.integer(4), at: index };
    });
    const lanes = Array.from({ length: 4 }, async (_, lane) => {
      const on = processes[lane % 2] ?? store;
      for (const change of changes.slice(40 * lane, 40 * (lane + 1))) await changeScores(on, dense, [change]);
    });
    await Promise.all(lanes);
    const { entries: shown } = await readRanking(store, dense, { limit: 10, include: [] });
    const naive = new NaiveBoard(dense);
    for (const [at, { userId, score }] of shown.entries())
      naive.change({ userId, operator: "set", score, at });
    assert.deepEqual(shown, naive.ranking());
    for (const user of shown) assert.deepEqual((await readUserEntry(store, dense, user.userId))?.entry, user);
    const [{ size }] = await store.read("dense", [{ type: "board", key: "scores", limit: 0 }]);
    assert.equal(size, new Set(shown.map(({ score }) => score)).size);
  });

  it("fail as busy while the score keeps changing", async t => {
    const { store, watched } = await opened(open, t);
    watched.when = ([first]) => first?.type !== "record";
    watched.disturb = count => changeScores(store, dense, [set("u", count)]);
    // The score that was read first changes before each decision.
    const decisions = { count: 0 };
    const { read } = watched;
    watched.read = async (partition, queries) => {
      if (queries[0]?.type === "record") {
        decisions.count += 1;
        await changeScores(store, dense, [set("u", 100 + decisions.count)]);
      }
      return read.call(watched, partition, queries) as never;
    };
    await assert.rejects(changeScores(watched, dense, [set("u", 5)]), isBusy);
    assert.ok(decisions.count > 1);
  });
});

describeOnDatabases("the part around a user", open => {
  it("fails as busy while the user of a sharded board keeps moving", async t => {
    const { store, watched } = await opened(open, t);
    await changeScores(
      store,
      spread,
      Array.from({ length: 100 }, (_, user) => set(`u${user}`, user)),
    );
    watched.when = ([first]) => first?.type === "standing";
    watched.disturb = count => changeScores(store, spread, [set("u50", count % 2 === 0 ? 500 : -500)]);
    await assert.rejects(readAround(watched, spread, { userId: "u50", limit: 3 }), isBusy);
    assert.ok(watched.disturbances > 1);
  });

  it("is full beside more hidden users than one range holds on one side", async t => {
    const { store } = await opened(open, t);
    for (const location of [plain, spread]) {
      await changeScores(
        store,
        location,
        Array.from({ length: 1_500 }, (_, user) => set(`u${user}`, user)),
      );
      const hidden = new Set(Array.from({ length: 900 }, (_, user) => `u${300 + user}`));
      const usersAround = async (userId: string): Promise<string[] | undefined> =>
        (await readAround(store, location, { userId, limit: 3, hidden }))?.entries.map(entry => entry.userId);
      assert.deepEqual(await usersAround("u750"), ["u1200", "u750", "u299"]);
      // A range ends among the hidden users beside these.
      assert.deepEqual(await usersAround("u1200"), ["u1202", "u1201", "u1200"]);
      assert.deepEqual(await usersAround("u300"), ["u300", "u299", "u298"]);
    }
  });

  it("is found if the user moves once", async t => {
    const { store, watched } = await opened(open, t);
    await changeScores(store, spread, users(50));
    watched.when = ([first]) => first?.type === "standing" && watched.disturbances === 0;
    watched.disturb = () => changeScores(store, spread, [set("u0", 500)]);
    const part = await readAround(watched, spread, { userId: "u0", limit: 2 });
    assert.deepEqual(part?.entries[0], { rank: 1, score: 500, userId: "u0" });
  });
});

describeOnDatabases("the hottest reads", open => {
  it("cost one round trip: leaders, leaders with included users, one user's entry and the part around it", async t => {
    const { watched } = await opened(open, t);
    await changeScores(watched, plain, users(20));
    const trips: (readonly Read[])[] = [];
    watched.when = queries => trips.push(queries) > 0;
    await readRanking(watched, plain, { limit: 10, include: [], hidden: new Set() });
    await readRanking(watched, plain, { limit: 3, include: ["u1", "u2", "nobody"] });
    await readUserEntry(watched, plain, "u1");
    await readAround(watched, plain, { userId: "u9", limit: 4, hidden: new Set(["u2"]) });
    assert.deepEqual(
      trips.map(queries => queries.length),
      [1, 4, 2, 1],
    );
  });
});
