import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import { readAround, readRanking, readUserEntry } from "../../../../lib/fans/leaderboards/ranking/ranking.ts";
import type { BoardChange } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import { changeScores } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import type { BoardLocation } from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { sampleSize } from "../../../support/full.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { NaiveBoard } from "./_naive_board.ts";

const runs = sampleSize(2_000, 500);
/** Histories that run at a time. */
const lanes = 20;
const names = ["a", "b", "Z", "～", "😀", "é", "\u{10ffff}", "\uffff", "{}:*", "__proto__", "10", "9"];
const userIds = [...names, ...names.map(name => `${name}/${name}`), ...names.map(name => `u${name}`)];

interface Boards {
  readonly naive: NaiveBoard;
  /** The same board kept in one partition, and where its ranks allow it in several. */
  readonly locations: readonly BoardLocation[];
}

function boards(random: Random, name: string): Boards {
  const rankStyle = random.pick(["competition", "dense", "ordinal"] as const);
  const order = random.pick(["desc", "asc"] as const);
  const bounds = random.chance(0.3) ? { min: -6, max: 6 } : undefined;
  const rules = { order, rankStyle, ...(bounds === undefined ? {} : { bounds }) };
  const isGuarded = rankStyle === "dense" || bounds !== undefined;
  const shards = Array.from({ length: 2 ** (1 + random.integer(5)) }, (_, shard) => `${name}:${shard}`);
  const [first = "", ...others] = shards;
  const single: BoardLocation = { ...rules, isGuarded, shards: [`${name}:all`] };
  const spread: BoardLocation = { ...rules, isGuarded, shards: [first, ...others] };
  return { naive: new NaiveBoard(rules), locations: rankStyle === "dense" ? [single] : [single, spread] };
}

function anyChange(random: Random, pool: readonly string[]): BoardChange {
  const userId = random.pick(pool);
  if (random.chance(0.1)) return { userId, operator: "remove" };
  const score = random.integer(13) - 6;
  return {
    userId,
    score: random.chance(0.2) ? score + 0.5 : score,
    at: 1_000 + random.integer(8),
    operator: random.pick(["set", "best", "sum", "latest"] as const),
    ...(random.chance(0.3) ? { asOf: random.integer(20) } : {}),
  };
}

async function playOne(store: Store, seed: number): Promise<void> {
  const random = createRandom(seed);
  const { naive, locations } = boards(random, `history:${seed}`);
  const pool = userIds.slice(0, 1 + random.integer(userIds.length));
  for (let batch = 0; batch < 1 + random.integer(3); batch++) {
    const changes = Array.from({ length: 1 + random.integer(30) }, () => anyChange(random, pool));
    const expected = changes.map(change => naive.change(change));
    const done = await Promise.all(locations.map(location => changeScores(store, location, changes)));
    for (const results of done) assert.deepEqual(results, expected, `seed ${seed}`);
  }
  await compare(store, { naive, locations }, { random, pool, seed });
}

async function compare(
  store: Store,
  { naive, locations }: Boards,
  {
    random,
    pool,
    seed,
  }: { readonly random: Random; readonly pool: readonly string[]; readonly seed: number },
): Promise<void> {
  const limit = 1 + random.integer(12);
  const include = [...new Set(Array.from({ length: random.integer(6) }, () => random.pick(userIds)))];
  const hidden = new Set(random.chance(0.4) ? pool.filter(() => random.chance(0.4)) : []);
  const userId = random.pick(pool);
  const all = naive.ranking();
  const userEntry = all.find(user => user.userId === userId);
  for (const location of locations) {
    const what = `seed ${seed}, ${location.shards.length} shards`;
    const list = await readRanking(store, location, { limit, include, hidden });
    assert.deepEqual(
      list,
      { entries: naive.list(limit, include, hidden), totalCount: all.length },
      `list, ${what}`,
    );
    const found = await readUserEntry(store, location, userId);
    const expected = {
      entry: userEntry,
      totalCount: all.length,
      percentile: userEntry === undefined ? 0 : naive.percentile(userId),
    };
    assert.deepEqual(found, userEntry === undefined ? null : expected, `entry, ${what}`);
    const part = await readAround(store, location, { userId, limit, hidden });
    const users = naive.around(userId, limit, hidden);
    assert.deepEqual(
      part,
      users === null ? null : { entries: users, totalCount: all.length },
      `around, ${what}`,
    );
  }
}

describeOnStores("a board after any history", open => {
  it("answers as a sorted array does, in one partition and in several", { timeout: 300_000 }, async t => {
    const store = await open(createTestClock().now);
    t.after(() => store[Symbol.asyncDispose]());
    let seed = 0;
    const play = async (): Promise<void> => {
      while (seed < runs) await playOne(store, ++seed);
    };
    await Promise.all(Array.from({ length: lanes }, play));
  });
});
