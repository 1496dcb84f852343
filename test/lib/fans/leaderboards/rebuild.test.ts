import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import { readRanking, readUserEntry } from "../../../../lib/fans/leaderboards/ranking/ranking.ts";
import type { BoardChange } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import {
  changeScores,
  repairDistinctScores,
  walkBoard,
} from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import { type Rebuilt, rebuildBoard } from "../../../../lib/fans/leaderboards/scores/rebuild.ts";
import {
  type BoardLocation,
  boardKey,
  distinctKey,
} from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";
import type { RecordedScore } from "../../../../lib/fans/leaderboards/scores/score_delivery.ts";
import { defaultBoard } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";
import type { Store, Write } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnStores, type OpenStore } from "../../../support/stores.ts";
import { NaiveBoard } from "./_naive_board.ts";

const rules = { order: "desc", rankStyle: "competition", isGuarded: false, shards: ["b:0"] } as const;
const locations: readonly BoardLocation[] = [
  rules,
  { ...rules, order: "asc", shards: ["c:0", "c:1", "c:2", "c:3"] },
  { ...rules, rankStyle: "dense", isGuarded: true, shards: ["d:0"] },
];
const nobody: ReadonlySet<string> = new Set();

type Scores = Map<string, RecordedScore>;

async function openOne(open: OpenStore, t: { after(end: () => Promise<void>): void }): Promise<Store> {
  const store = await open(createTestClock().now);
  t.after(async () => store[Symbol.asyncDispose]());
  return store;
}

/** Lets users reach scores as a feed brings them, and answers what each must have in the end. */
async function play(store: Store, location: BoardLocation, random: Random): Promise<Scores> {
  const scores: Scores = new Map();
  for (let asOf = 1; asOf <= 6; asOf++) {
    const changes: BoardChange[] = [];
    for (let user = 0; user < 120; user++) {
      if (random.chance(0.4)) continue;
      const userId = `u${user}`;
      const score = random.integer(15) - 7;
      const held = scores.get(userId);
      const at = held?.score === score ? held.at : 1_000 + asOf;
      scores.set(userId, { score, at, asOf });
      changes.push({ userId, operator: "set", score, at: 1_000 + asOf, asOf });
    }
    await changeScores(store, location, changes);
  }
  return scores;
}

async function corrupt(store: Store, location: BoardLocation, random: Random): Promise<void> {
  for (const partition of location.shards) {
    const wrong = (member: string): Write => ({
      type: "score",
      op: "set",
      key: boardKey,
      member,
      score: random.integer(30) - 15,
      tie: random.integer(3_000),
      ...(random.chance(0.5) ? { asOf: 1_000_000 } : {}),
    });
    const writes: Write[] = [];
    for (let user = 0; user < 120; user++) {
      if (random.chance(0.3)) writes.push(wrong(`u${user}`));
      if (random.chance(0.2)) writes.push({ type: "unscore", key: boardKey, member: `u${user}` });
      if (random.chance(0.2)) writes.push(wrong(`stranger${user}`));
    }
    for (const member of ["3", "-3", "99", "x", "Infinity"]) {
      writes.push({ type: "score", op: "set", key: distinctKey, member, score: random.integer(10) });
    }
    for (const member of ["1", "-1"]) writes.push({ type: "unscore", key: distinctKey, member });
    await store.commit(partition, { writes });
  }
}

function expected(location: BoardLocation, scores: Scores): NaiveBoard {
  const board = new NaiveBoard(location);
  for (const [userId, score] of scores) board.change({ userId, operator: "set", ...score });
  return board;
}

async function assertEqual(store: Store, location: BoardLocation, board: NaiveBoard): Promise<void> {
  const all = board.ranking();
  const list = await readRanking(store, location, { limit: 1_000, include: [] });
  assert.deepEqual(list, { entries: all, totalCount: all.length });
  for (const { userId, rank } of all) {
    assert.equal((await readUserEntry(store, location, userId))?.entry.rank, rank, userId);
  }
}

/** Rebuilds a board that shows a metric, for users with these scores. */
function rebuild(
  store: Store,
  location: BoardLocation,
  {
    users,
    scoreOf,
  }: {
    readonly users: AsyncIterable<string>;
    readonly scoreOf: (userId: string) => Promise<RecordedScore | null>;
  },
): Promise<Rebuilt> {
  const project = { id: "p", spaceId: "s", organisationId: "o", name: "App", settings: {} };
  const declaration = { ...defaultBoard("b"), source: { type: "metric", metricId: "points" } as const };
  const address = { projectId: "p", eventId: null, leaderboardId: "b", season: "" };
  const board = { declaration, project, event: null, season: null, address, location };
  return rebuildBoard(store, board, {
    users,
    async earningsOf(userId) {
      const score = await scoreOf(userId);
      if (score === null) return null;
      const { at: changedAt, asOf: revision } = score;
      return { projectId: "p", revision, changedAt, metrics: { points: score.score }, earnings: [] };
    },
  });
}

async function* everybody(): AsyncGenerator<string> {
  for (let user = 0; user < 150; user++) yield `u${user}`;
}

describeOnStores("rebuilding a board", open => {
  for (const location of locations) {
    const what = `${location.rankStyle}, ${location.order}, ${location.shards.length} shards`;
    it(`restores a damaged board (${what})`, async t => {
      const store = await openOne(open, t);
      for (let seed = 1; seed <= 3; seed++) {
        const random = createRandom(seed);
        const scores = await play(store, location, random);
        await corrupt(store, location, random);
        const scoreOf = async (userId: string) => scores.get(userId) ?? null;
        const { written, removed } = await rebuild(store, location, { users: everybody(), scoreOf });
        assert.equal(written, scores.size);
        assert.ok(removed > 0);
        await assertEqual(store, location, expected(location, scores));
        // Late deliveries of the feed are as stale as on an undamaged board, and new ones count.
        const [[userId, held] = ["", undefined]] = scores;
        assert.ok(held !== undefined);
        const late = { userId, operator: "set", score: 50, at: 9_000 } as const;
        await changeScores(store, location, [{ ...late, asOf: held.asOf }]);
        await assertEqual(store, location, expected(location, scores));
        await changeScores(store, location, [{ ...late, asOf: held.asOf + 1 }]);
        scores.set(userId, { score: 50, at: 9_000, asOf: held.asOf + 1 });
        await assertEqual(store, location, expected(location, scores));
        await changeScores(
          store,
          location,
          [...scores.keys()].map(user => ({ userId: user, operator: "remove" })),
        );
      }
    });
  }

  it("changes nothing on a correct board", async t => {
    const store = await openOne(open, t);
    for (const location of locations) {
      const scores = await play(store, location, createRandom(7));
      await rebuild(store, location, {
        users: everybody(),
        scoreOf: async userId => scores.get(userId) ?? null,
      });
      await assertEqual(store, location, expected(location, scores));
      await changeScores(
        store,
        location,
        [...scores.keys()].map(user => ({ userId: user, operator: "remove" })),
      );
    }
  });

  it("keeps scores that are delivered meanwhile, also of users it has read", async t => {
    const store = await openOne(open, t);
    for (const location of locations) {
      const before: RecordedScore = { score: 1, at: 1_000, asOf: 1 };
      const after: RecordedScore = { score: 5, at: 2_000, asOf: 2 };
      const reads = new Map<string, number>();
      // Between reading a user's record and writing the board the user reaches a score, and the feed is faster.
      const scoreOf = async (userId: string): Promise<RecordedScore | null> => {
        const count = (reads.get(userId) ?? 0) + 1;
        reads.set(userId, count);
        if (count > 1) return after;
        await changeScores(store, location, [{ userId, operator: "set", ...after }]);
        return userId === "new" ? null : before;
      };
      await changeScores(store, location, [{ userId: "new", operator: "set", score: 9, at: 1, asOf: 1 }]);
      async function* users(): AsyncGenerator<string> {
        yield "known";
      }
      await rebuild(store, location, { users: users(), scoreOf });
      const scores = new Map(["known", "new"].map(userId => [userId, after]));
      await assertEqual(store, location, expected(location, scores));
    }
  });

  it("adds dense ranks to a board that had none", async t => {
    const store = await openOne(open, t);
    const [location, , dense] = locations;
    assert.ok(location !== undefined && dense !== undefined);
    const scores = await play(store, location, createRandom(11));
    const now = { ...dense, shards: location.shards };
    await rebuild(store, now, {
      users: everybody(),
      scoreOf: async userId => scores.get(userId) ?? null,
    });
    await assertEqual(store, now, expected(now, scores));
  });

  it("holds one batch of users in memory, however many there are", async t => {
    const store = await openOne(open, t);
    let ahead = 0;
    let most = 0;
    async function* users(): AsyncGenerator<string> {
      for (let user = 0; user < 2_000; user++) {
        ahead += 1;
        most = Math.max(most, ahead);
        yield `u${user}`;
      }
    }
    const seen = new Set<string>();
    await rebuild(store, rules, {
      users: users(),
      scoreOf: async userId => {
        if (!seen.has(userId)) ahead -= 1;
        seen.add(userId);
        return { score: 1, at: 1, asOf: 1 };
      },
    });
    assert.ok(most <= 50, `${most}`);
    assert.equal(
      (await readRanking(store, rules, { limit: 1, include: [], hidden: nobody })).totalCount,
      2_000,
    );
  });
});

describeOnStores("the distinct scores of a board", open => {
  it("are repaired, however many are missing", async t => {
    const store = await openOne(open, t);
    const writes = Array.from(
      { length: 450 },
      (_, n): Write => ({ type: "score", op: "set", key: boardKey, member: `u${n}`, score: n }),
    );
    await store.commit("d", { writes });
    await repairDistinctScores(store, "d");
    const [{ size }] = await store.read("d", [{ type: "board", key: distinctKey, limit: 1 }]);
    assert.equal(size, 450);
  });
});

describeOnStores("walking over a board", open => {
  it("reads every entry that does not move once, while others come, go and move", async t => {
    const store = await openOne(open, t);
    const random = createRandom(5);
    const score = (member: string, value: number): Write => ({
      type: "score",
      op: "set",
      key: boardKey,
      member,
      score: value,
    });
    const still = Array.from({ length: 1_500 }, (_, index) => `still${index}`);
    for (let from = 0; from < still.length; from += 500) {
      const some = still.slice(from, from + 500);
      await store.commit("b", { writes: some.map(member => score(member, random.integer(100))) });
    }
    const moving = Array.from({ length: 400 }, (_, index) => `moving${index}`);
    await store.commit("b", { writes: moving.map(member => score(member, random.integer(100))) });
    const met: string[] = [];
    for await (const page of walkBoard(store, "b", boardKey)) {
      met.push(...page.map(({ member }) => member).filter(member => member.startsWith("still")));
      const writes = moving.map(
        (member): Write =>
          random.chance(0.3)
            ? { type: "unscore", key: boardKey, member }
            : score(member, random.chance(0.5) ? -1 : 200),
      );
      await store.commit("b", { writes });
    }
    assert.equal(met.length, still.length);
    assert.deepEqual(new Set(met), new Set(still));
  });
});
