/**
 * The cost of a user's rank on Redis among ten million users beside a hundred thousand.
 *
 * ```sh
 * npm run bench -- rank_10m             # fills 10,000,000 users: some minutes, 3 GB of memory
 * npm run bench -- rank_10m 1000000
 * ```
 *
 * One reader asks for one rank at a time, turn by turn on either board, over a unix socket; a read answers rank, number of
 * users and percentile. Rounds reverse their order. Medians of single reads are compared: the rest is the machine.
 */

import { Redis } from "ioredis";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { readRanking, readUserEntry } from "../../lib/fans/leaderboards/ranking/ranking.ts";
import type { BoardLocation } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { median } from "./harness.ts";
import { fillBoard, memberAt, quantile } from "./redis_board_fill.ts";

const sizes = [100_000, Number(process.argv[2] ?? 10_000_000)];
const rounds = 6;
const readsPerRound = 4_000;
const warmupReads = 2_000;

const server = await startRedis();
const client = new Redis(server.socket);
const store = createRedisStore({ server: `unix://${server.socket}` });
try {
  for (const users of sizes) {
    const seconds = await fillBoard(client, `users:${users}`, users);
    console.log(`${users.toLocaleString("en")} users filled in ${seconds.toFixed(0)} s`);
  }
  const memory = /used_memory:(\d+)/.exec(await client.info("memory"))?.[1];
  console.log(`Redis uses ${(Number(memory) / 2 ** 20).toFixed(0)} MiB`);
  const kinds = {
    "rank of one user": (location: BoardLocation, users: number) =>
      readUserEntry(store, location, memberAt(Math.floor(Math.random() * users))),
    "top 10": (location: BoardLocation) => readRanking(store, location, { limit: 10, include: [] }),
  };
  for (const [kind, read] of Object.entries(kinds)) await measure(kind, read);
} finally {
  client.disconnect();
  await store[Symbol.asyncDispose]();
  await server.kill();
}

async function measure(
  kind: string,
  read: (location: BoardLocation, users: number) => Promise<unknown>,
): Promise<void> {
  const rows = sizes.map(users => ({
    users,
    location: placeOf(users),
    p50s: [] as number[],
    p99s: [] as number[],
  }));
  for (const { location, users } of rows) for (let n = 0; n < warmupReads; n++) await read(location, users);
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      const times: number[] = [];
      for (let n = 0; n < readsPerRound; n++) {
        const start = performance.now();
        const answer = await read(row.location, row.users);
        times.push((performance.now() - start) * 1_000);
        if (answer === null) throw new Error("A user is missing");
      }
      row.p50s.push(quantile(times, 0.5));
      row.p99s.push(quantile(times, 0.99));
    }
  }
  console.log(`\n| ${kind} | p50, us | p99, us | p50 of each round |\n|---|---|---|---|`);
  for (const { users, p50s, p99s } of rows) {
    const raw = p50s.map(us => us.toFixed(0)).join(" ");
    console.log(
      `| ${users.toLocaleString("en")} users | ${median(p50s).toFixed(1)} | ${median(p99s).toFixed(1)} | ${raw} |`,
    );
  }
  const [small, large] = rows.map(({ p50s }) => p50s);
  const ratios = (large ?? []).map((us, round) => us / (small?.[round] ?? Number.NaN));
  figure(`${kind} among 10,000,000 on Redis, to 100,000`, `${median(ratios).toFixed(2)} times the time`, "2");
}

function placeOf(users: number): BoardLocation {
  return { shards: [`users:${users}`], order: "desc", rankStyle: "competition", isGuarded: false };
}
