/**
 * The longest time in which Redis answers nobody while the scores of a season of a million users are removed.
 *
 * ```sh
 * npm run bench -- season_removal [users]
 * ```
 *
 * One connection sends PING after PING while the season goes, as the retention of boards removes it. What Redis itself
 * says of the longest command is its processor; what the pings say includes whatever else the machine does, and stands
 * beside the longest ping of a time in which nothing happened. Removal with DEL is there for comparison.
 */

import { Redis } from "ioredis";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { fillBoard } from "./redis_board_fill.ts";

const users = Number(process.argv[2] ?? 1_000_000);
const rounds = 3;
const quietMs = 1_000;
/** Commands that take longer are noted by Redis, in microseconds; the pings are far below. */
const notedUs = 100;

const server = await startRedis();
const client = new Redis(server.socket);
const pinger = new Redis(server.socket);
const store = createRedisStore({ server: `unix://${server.socket}` });
try {
  await client.config("SET", "slowlog-log-slower-than", notedUs);
  console.log(`| removal of ${users.toLocaleString("en")} users | longest command, ms | longest ping, ms |`);
  console.log("|---|---|---|");
  for (let round = 0; round < rounds; round++) {
    await report("nothing", async () => {});
    await report("as the store does", async () => {
      const commit = await store.commit("season", {
        writes: [{ type: "delete", shape: "board", key: "board" }],
      });
      if (!commit.ok) throw new Error("The season was not removed");
    });
    await report("DEL", () => client.del("gs:{season}bboard", "gs:{season}mboard"));
  }
} finally {
  client.disconnect();
  pinger.disconnect();
  await store[Symbol.asyncDispose]();
  await server.kill();
}

async function report(what: string, remove: () => Promise<unknown>): Promise<void> {
  if ((await client.zcard("gs:{season}bboard")) === 0) await fillBoard(client, "season", users);
  await store.ping();
  await client.slowlog("RESET");
  let running = true;
  let longest = 0;
  async function ping(): Promise<void> {
    while (running) {
      const start = performance.now();
      await pinger.ping();
      longest = Math.max(longest, performance.now() - start);
    }
  }
  const pinging = ping();
  await remove();
  // Memory is given back in the background for some time after the removal.
  const until = performance.now() + quietMs;
  while (performance.now() < until) await client.zcard("gs:{season}bboard");
  running = false;
  await pinging;
  const log = (await client.slowlog("GET", 128)) as [id: number, at: number, us: number][];
  const slowest = Math.max(notedUs, ...log.map(([, , us]) => us)) / 1_000;
  figure(
    `${what} of ${users.toLocaleString("en")} entries: longest command of Redis`,
    `${slowest.toFixed(2)} ms`,
    "20 ms",
  );
  console.log(
    `| ${what} | ${log.length === 0 ? "below " : ""}${slowest.toFixed(2)} | ${longest.toFixed(2)} |`,
  );
}
