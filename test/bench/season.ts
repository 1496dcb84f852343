/**
 * A league season with many fans: every matchday is replayed through the handler, and every table is read and compared.
 *
 *     npm run bench -- season [--fans 10000] [--matchdays 4] [--store memory|redis]
 *
 * Each store has a process of its own. 64 calls are under way at a time; every sixth report is sent twice. Clients and
 * platform share the process, so the figures contain making every Request and reading every Response, and on Redis
 * the board feed in the background besides. "Read" is the time to read all tables through the lists of the API and to
 * compare each entry.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { checkBoard, expectedTables } from "../season/check.ts";
import { readSeason } from "../season/fixtures.ts";
import { backEndKey, leagueIds, leagueSeed } from "../season/league.ts";
import { playSeason } from "../season/play.ts";
import { createSharedTimeline } from "../season/timeline.ts";
import { testSecret } from "../support/platform.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { sharedData } from "../support/shared_data.ts";

const seed = 1;
const width = 64;

interface Options {
  readonly fans: number;
  readonly matchdays: number;
}

async function openStore(name: string, clock: () => number): Promise<Store> {
  if (name === "memory") return createMemoryStore({ clock });
  const { url } = await sharedRedis();
  return createRedisStore({ server: url, prefix: "bench:", clock });
}

async function measure(name: string, path: string, { fans, matchdays }: Options): Promise<string> {
  const timeline = createSharedTimeline(Date.parse("2024-08-01T12:00:00Z"));
  const matches = readSeason(path).filter(({ matchday }) => matchday <= matchdays);
  await using store = await openStore(name, timeline.now);
  await seedDirectory(store, leagueSeed(matches));
  const { space: defaultSpaceId } = leagueIds;
  const clock = timeline.now;
  // All fans are behind one address.
  const limits = { limiter: "off", identity: { limits: "off" } } as const;
  const platform = await createPlatform({ store, secret: testSecret, clock, defaultSpaceId, ...limits });
  const handlers = [platform.fetch] as const;
  const backEnd = await platform.apiKeys.create(backEndKey);
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const random = createRandom(seed);
  const season = await playSeason({ handlers, timeline, backEnd, matches, random, fans, spreadMs: 1, width });
  await platform.idle();
  const playedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  const expected = expectedTables(season.tables, season.fans);
  const readAt = performance.now();
  for (const table of expected) await checkBoard(platform.fetch, table, season.fans);
  const readMs = performance.now() - readAt;
  const cells = [
    name,
    season.sent,
    Math.round((season.sent * 1_000) / season.sendMs),
    (season.sendMs / 1_000).toFixed(1),
    (playedMs / 1_000).toFixed(1),
    ((user + system) / 1e6).toFixed(1),
    expected.reduce((sum, { rows }) => sum + rows.length, 0),
    (readMs / 1_000).toFixed(1),
    Math.round(process.memoryUsage().rss / 2 ** 20),
  ];
  return `| ${cells.join(" | ")} |`;
}

const flags = parseArgs({
  options: {
    fans: { type: "string", default: "10000" },
    matchdays: { type: "string", default: "4" },
    store: { type: "string" },
  },
}).values;
const data = sharedData("football/en.1-2024-25.json");
if (data.path === null) {
  console.log(data.skip);
} else if (flags.store !== undefined) {
  console.log(
    await measure(flags.store, data.path, { fans: Number(flags.fans), matchdays: Number(flags.matchdays) }),
  );
} else {
  const skipped = redisAvailable();
  console.log(
    `node ${process.version}, ${flags.fans} fans, ${flags.matchdays} matchdays; every table was as counted\n`,
  );
  console.log(
    "| store | reports sent | reports/s | sending s | with sign-ups and sign-ins s | processor s | entries | read s | RSS MiB |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|");
  for (const store of skipped === false ? ["memory", "redis"] : ["memory"]) {
    const args = ["--import", "tsx", fileURLToPath(import.meta.url), "--store", store];
    const child = spawnSync(
      process.execPath,
      [...args, "--fans", flags.fans, "--matchdays", flags.matchdays],
      { stdio: "inherit" },
    );
    if (child.status !== 0) process.exitCode = 1;
  }
  if (skipped !== false) console.log(`\nWithout Redis: ${skipped}`);
}
