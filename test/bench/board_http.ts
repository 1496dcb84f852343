/**
 * A board of a million users on Redis with an append-only file, over HTTP: what `grandstand serve` answers to 64 connections.
 *
 * ```sh
 * npm run bench -- board_http [rounds] [folder of another checkout]
 * ```
 *
 * The server has one core, Redis and the load generator share the other. Users are drawn at random among all, so that hardly any
 * name is cached. With another checkout, which has packages of its own, its server is measured by turns on the same board.
 */

import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { encodeRecord } from "../../adapters/redis/stored.ts";
import { userPartition } from "../../lib/fans/identity/users.ts";
import { boardPartition } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { MasterSecret } from "../../lib/mod.ts";
import { newKey } from "../http/_operations.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import {
  bundleForBench,
  canMeasure,
  compare,
  type Load,
  median,
  type Row,
  table,
  type Variant,
} from "./harness.ts";
import { fillBoard, memberAt } from "./redis_board_fill.ts";

const users = 1_000_000;
/** A user's id is a UUID. */
const prefix = "0f000000-0000-4000-8000-0000";
const secret = "a master secret for tests and long enough to be accepted";
const here = fileURLToPath(new URL("../../", import.meta.url));
const [rounds = "5", other] = process.argv.slice(2);
const path = `/projects/${ids.project}/leaderboards/goals`;
const partition = boardPartition(
  { projectId: ids.project, eventId: null, leaderboardId: "goals", season: "" },
  0,
);

if (canMeasure()) await main();
else console.log("Cannot measure: this needs Linux and wrk");

async function main(): Promise<void> {
  const server = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "everysec"] });
  const client = new Redis(server.socket);
  try {
    const key = await prepare(server.url);
    await fillBoard(client, partition, users, prefix);
    await fillNames(client);
    const backendPid = Number(/process_id:(\d+)/.exec(await client.info("server"))?.[1]);
    spawnSync("taskset", ["-a", "-p", "-c", "1", String(backendPid)]);
    const variants = [await variant("this", here, server.url)];
    if (other !== undefined) variants.push(await variant("other", resolve(other), server.url));
    const samples = new Map<string, readonly Row[]>();
    for (const [what, load] of Object.entries(loads(key))) {
      const options = { repeats: 1, rounds: Number(rounds), seconds: 2, warmupSeconds: 4, backendPid };
      const rows = await compare(variants, load, options);
      samples.set(what, rows);
      const behind = rows.map(row => median(row.samples.map(one => one.backendUs)).toFixed(1));
      console.log(`\n${what}\n\n${table(rows)}\nRedis CPU us/req: ${behind.join(", ")}`);
    }
    for (const [index, { name }] of variants.entries()) report(name, index, samples);
  } finally {
    client.disconnect();
    await server.kill();
  }
}

/** Creates project and board, and a key that may write scores. */
async function prepare(url: string): Promise<Readonly<Record<string, string>>> {
  const world = await openPlatform(async clock => createRedisStore({ server: url, clock }), {
    clock: Date.now,
    startAt: Date.now(),
    secret: new MasterSecret(secret),
  });
  const { key, secret: apiSecret } = await newKey(world);
  await world.dispose();
  return { "x-api-key": key, "x-api-secret": apiSecret, "content-type": "application/json" };
}

async function fillNames(client: Redis): Promise<void> {
  const perCall = 2_000;
  for (let from = 0; from < users; from += perCall) {
    const pairs = Array.from({ length: perCall }, (_, index) => {
      const userId = memberAt(from + index, prefix);
      const record = encodeRecord("0000000000000000", `Fan ${from + index}`, undefined);
      return [`gs:{${userPartition(ids.project, userId)}}rname`, record];
    });
    await client.mset(...pairs.flat());
  }
}

/** The program of a checkout. */
async function variant(name: string, root: string, redis: string): Promise<Variant> {
  const program = await bundleForBench(join(root, "runtime/cli.ts"), root);
  return {
    name,
    command: [process.execPath, program, "serve"],
    env: {
      GRANDSTAND_REDIS: redis,
      GRANDSTAND_SECRET: secret,
      GRANDSTAND_PORT: "0",
      GRANDSTAND_LOG: "warn",
      GRANDSTAND_RATE_LIMITS: "off",
    },
  };
}

function loads(writer: Readonly<Record<string, string>>): Readonly<Record<string, Load>> {
  const requests = (text: string): string =>
    [
      "math.randomseed(os.time())",
      `local function user() return string.format("${prefix}%08d", math.random(0, ${users - 1})) end`,
      `request = function() return wrk.format(${text}) end`,
    ].join("\n");
  return {
    "PUT score": {
      path,
      headers: writer,
      lua: requests(`"PUT", "${path}/users/" .. user(), nil, '{"score":' .. math.random(0, 1048575) .. '}'`),
    },
    "top 10": { path: `${path}?limit=10` },
    "one user": { path, lua: requests(`"GET", "${path}/users/" .. user()`) },
    "around a user": { path, lua: requests(`"GET", "${path}?limit=10&around=" .. user()`) },
  };
}

function report(name: string, index: number, samples: ReadonlyMap<string, readonly Row[]>): void {
  const rates = new Map(
    [...samples].map(([what, rows]) => [
      what,
      median(rows[index]?.samples.map(one => one.requestsPerSecond) ?? []),
    ]),
  );
  const where = `board of 1,000,000 on Redis over HTTP${name === "this" ? "" : `, ${name}`}`;
  const all = [...rates].map(([what, rate]) => `${what} ${Math.round(rate).toLocaleString("en")}/s`);
  figure(where, all.join(", "));
  const rateOf = (what: string): number => rates.get(what) ?? Number.NaN;
  for (const what of ["PUT score", "around a user"]) {
    figure(`${where}: ${what} to one user`, (rateOf(what) / rateOf("one user")).toFixed(2), "0.8");
  }
}
