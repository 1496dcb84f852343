/**
 * Pages of searches among few and among many users, and how fast users are looked through.
 *
 * ```sh
 * node --import tsx --max-old-space-size=6000 test/bench/search.ts                # memory, 10,000 and 1,000,000 users
 * npm run bench -- search redis 100000                             # a Redis of its own, 10,000 and 100,000
 * ```
 *
 * Two organisations of one store have the same kind of users, and the same requests go to both in turns. Every user has a
 * profile and a loyalty record, and points that nobody else has. A filter fits the 1,000 users with the most points in both, so
 * the same number of users is found. Times are those of the library call.
 */

import { randomUUID } from "node:crypto";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { SearchRequest } from "../../lib/fans/audience/search/criteria.ts";
import { createUserFinder, type UserFinder } from "../../lib/fans/audience/search/search.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import { emptyState, spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { printState, readState } from "../../lib/fans/loyalty/user/stored_state.ts";
import {
  activityWrites,
  buildIndex,
  listingWrites,
  metricIndex,
  userBoards,
  userShardOf,
  userShardPartitions,
} from "../../lib/fans/users/mod.ts";
import type { Store, Write } from "../../lib/storage/mod.ts";
import { ids, openPlatform, seed, testSecret } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { median } from "./harness.ts";

const barRatioMax = 3;
const barScanPerSecond = 100_000;
const few = 10_000;
const fitting = 1_000;
const rounds = 60;
const warmupRounds = 20;
const scanPage = 1_000;
/** Commits at a time while filling. */
const fillLanes = 200;
const fillAttemptsMax = 20;

const [where = "memory", size = "1000000"] = process.argv.slice(2);
const many = Number(size);
const audience = { audience: { indexes: ["metrics.points"] } };
const indexed = {
  ...seed,
  organisations: seed.organisations.map(organisation => ({ ...organisation, settings: audience })),
  loyalty: { ...seed.loyalty, [ids.otherSpace]: Object.values(seed.loyalty ?? {})[0] },
};

interface Audience {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly count: number;
}

const audiences: readonly Audience[] = [
  { organisationId: ids.organisation, spaceId: ids.space, count: few },
  { organisationId: ids.otherOrganisation, spaceId: ids.otherSpace, count: many },
];

async function measure(open: Parameters<typeof openPlatform>[0]): Promise<void> {
  const world = await openPlatform(open, { seed: indexed });
  const { store, platform, clock } = world;
  const { directory } = platform;
  const users = new Users(store, testSecret);
  const finder = createUserFinder({ store, directory, clock: clock.now, loyalty: platform.loyalty, users });
  for (const some of audiences) await fill(store, some, clock.now());
  for (const [name, criteria] of Object.entries(searches)) await compare(finder, name, criteria);
  for (const { organisationId, spaceId, count } of audiences) {
    const search = await finder.compile(organisationId, { spaceId, filter: { displayName: "nobody" } });
    const start = performance.now();
    const cpu = process.cpuUsage();
    let examined = 0;
    for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
      const page = await search.printedPage({ cursor, limit: scanPage });
      cursor = page.cursor;
      examined += page.examined;
    }
    const seconds = (performance.now() - start) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    console.log(
      `looking through ${count} users: ${Math.round(examined / seconds)} users/s (bar in memory ${barScanPerSecond}), ${(
        (user + system) / examined
      ).toFixed(1)} us of processor time each`,
    );
  }
  await world.dispose();
}

type Search = (audience: Audience) => Omit<SearchRequest, "organisationId" | "spaceId">;

const searches: Readonly<Record<string, Search>> = {
  "filter by points": ({ count }) => ({ filter: { metrics: { points: { min: count - fitting } } } }),
  "filter by activity": ({ count }) => ({ filter: { activeAfter: new Date(count - fitting).toISOString() } }),
  "order by points": () => ({ sort: { field: "metrics.points", order: "desc" } }),
  "order by creation": () => ({ sort: { field: "createdAt", order: "desc" } }),
  "order by points, filter by points": ({ count }) => ({
    filter: { metrics: { points: { min: count - fitting } } },
    sort: { field: "metrics.points", order: "asc" },
  }),
};

async function compare(finder: UserFinder, name: string, search: Search): Promise<void> {
  const times = audiences.map((): number[] => []);
  for (let round = 0; round < warmupRounds + rounds; round++) {
    const order = [...audiences.entries()];
    for (const [index, some] of round % 2 === 0 ? order : order.toReversed()) {
      const { organisationId, spaceId } = some;
      const start = performance.now();
      const first = await finder.find({ organisationId, spaceId, ...search(some) }, { limit: 50 });
      const time = performance.now() - start;
      if (first.users.length !== 50)
        throw new Error(`Expected a full page of ${name}: ${first.users.length}`);
      if (round >= warmupRounds) times[index]?.push(time);
    }
  }
  const [small = 0, large = 0] = times.map(median);
  const ratio = large / small;
  figure(
    `search page, ${where}, ${name}: ${many} users to ${few}`,
    `${ratio.toFixed(2)} times`,
    `${barRatioMax}`,
  );
  console.log(
    `${name}: ${small.toFixed(2)} ms among ${few}, ${large.toFixed(2)} ms among ${many}, ratio ${ratio.toFixed(2)} (bar ${barRatioMax})`,
  );
}

/** Writes users as reports of actions leave them behind. Points are unlike for all, and so are times. */
async function fill(store: Store, { organisationId, count }: Audience, now: number): Promise<void> {
  const shards = new Map(
    userShardPartitions(organisationId).map((partition, shard) => [
      shard,
      { partition, writes: [] as Write[] },
    ]),
  );
  let commits: Promise<unknown>[] = [];
  for (let n = 0; n < count; n++) {
    const userId = `${n.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const shard = shards.get(userShardOf(userId));
    shard?.writes.push(...listingWrites(userId, n), ...activityWrites(userId, n), {
      type: "score",
      op: "set",
      key: userBoards.metric("points"),
      member: userId,
      score: n,
      tie: 1,
      asOf: 1,
    });
    const state = {
      ...emptyState(ids.project),
      revision: 1,
      changedAt: now,
      config: "1",
      metrics: { points: n },
      records: 1,
    };
    const profile = {
      displayName: `Fan ${n}`,
      preferences: {},
      customFields: {},
      createdAt: n,
      updatedAt: n,
      version: 1,
    };
    commits.push(
      surely(() =>
        store.commit(spaceUserPartition({ organisationId, userId }), {
          writes: [
            { type: "put", key: readState.key, value: printState(state) },
            { type: "put", key: "profile", value: JSON.stringify(profile) },
          ],
        }),
      ),
    );
    if (shard !== undefined && shard.writes.length >= 300) {
      const writes = shard.writes.splice(0);
      commits.push(surely(() => store.commit(shard.partition, { writes })));
    }
    if (commits.length >= fillLanes) {
      await Promise.all(commits);
      commits = [];
    }
  }
  await Promise.all(commits);
  for (const { partition, writes } of shards.values())
    await surely(() => store.commit(partition, { writes }));
  // Notes that the index is whole, which it is by what was written above.
  const index = metricIndex(async () => null, { organisationId, metricId: "points" });
  await buildIndex({ store, clock: () => now }, index);
}

/** Filling may be too much for a busy machine; whatever was written is written again. */
async function surely(task: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; attempt < fillAttemptsMax; attempt++) {
    try {
      await task();
      return;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  }
  await task();
}

if (where === "redis") {
  const server = await startRedis();
  try {
    await measure(async clock =>
      createRedisStore({ server: server.url, prefix: `b:${randomUUID()}:`, clock }),
    );
  } finally {
    await server.kill();
  }
} else await measure(async clock => createMemoryStore({ clock }));
