/**
 * Writing scores when all users are on one board, beside users who are spread over 16 boards.
 *
 * ```sh
 * npm run bench -- hot_board
 * ```
 *
 * 64 back ends write single scores, and in the second part the feed brings what users earn, many at a time. Every sample is
 * a fresh process; rounds reverse their order. Rates are per second of the busier of the two processors, that of the
 * process and that of Redis, which other processes of the machine disturb least; the wall's rate stands beside.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { changeScores } from "../../lib/fans/leaderboards/scores/change_scores.ts";
import type { BoardLocation } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { ScoreDelivery } from "../../lib/fans/leaderboards/scores/score_delivery.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { bundleForBench, median } from "./harness.ts";

const users = 100_000;
const boards = 16;
const rounds = 3;
const writers = 64;
const measured = { direct: 60_000, feed: 200_000 };
const warmup = 20_000;

interface Sample {
  readonly perSecond: number;
  readonly perProcessorSecond: number;
}

const variants = ["16 boards", "one board, 16 shards", "one board"] as const;
const parts = ["direct", "feed"] as const;
/** Orders the scores as a clock would. */
let stamp = 0;
const [mode = "", on = "", variant = "", part = "", socket = ""] = process.argv.slice(2);

const hot = placeOf(0);
const locations = Array.from({ length: boards }, (_, board) =>
  variant === "16 boards" ? placeOf(board) : hot,
);
if (mode === "--sample") console.log(JSON.stringify(await sample()));
else await main();

async function main(): Promise<void> {
  const script = await bundleForBench(fileURLToPath(import.meta.url));
  for (const where of ["memory", "Redis"]) {
    for (const kind of parts) {
      const rows = variants.map(name => ({ name, samples: [] as Sample[] }));
      for (let round = 0; round < rounds; round++) {
        for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
          row.samples.push(await freshSample(script, { where, kind, name: row.name }));
        }
      }
      print(`${where}, ${kind}`, rows);
    }
  }
}

async function freshSample(
  script: string,
  { where, kind, name }: { readonly where: string; readonly kind: string; readonly name: string },
): Promise<Sample> {
  const server = where === "Redis" ? await startRedis() : null;
  try {
    const args = [script, "--sample", where, name, kind, server?.socket ?? ""];
    const { status, stdout } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`Cannot measure ${name}: the process ended with ${status}`);
    return JSON.parse(stdout);
  } finally {
    await server?.kill();
  }
}

function print(title: string, rows: readonly { name: string; samples: readonly Sample[] }[]): void {
  console.log(`\n| ${title} | scores/s of a processor | beside 16 boards | scores/s | raw, k/s |`);
  console.log("|---|---|---|---|---|");
  const base = rows[0]?.samples ?? [];
  for (const { name, samples } of rows) {
    const rates = samples.map(one => one.perProcessorSecond);
    const ratio = median(rates.map((rate, round) => rate / (base[round]?.perProcessorSecond ?? Number.NaN)));
    const cells = [
      name,
      Math.round(median(rates)).toLocaleString("en"),
      ratio.toFixed(2),
      Math.round(median(samples.map(one => one.perSecond))).toLocaleString("en"),
      rates.map(rate => Math.round(rate / 1_000)).join(" "),
    ];
    console.log(`| ${cells.join(" | ")} |`);
    if (name !== rows[0]?.name) figure(`${title}: ${name}, to users on 16 boards`, ratio.toFixed(2), "0.7");
  }
}

async function sample(): Promise<Sample> {
  const store = on === "Redis" ? createRedisStore({ server: `unix://${socket}` }) : createMemoryStore();
  const write = part === "feed" ? feeding(store) : writing(store);
  const count = part === "feed" ? measured.feed : measured.direct;
  await write(warmup);
  const before = { cpu: process.cpuUsage(), server: await serverUs(), at: performance.now() };
  await write(count);
  const cpu = process.cpuUsage(before.cpu);
  const seconds = (performance.now() - before.at) / 1_000;
  const busiest = Math.max(cpu.user + cpu.system, (await serverUs()) - before.server);
  await store[Symbol.asyncDispose]();
  return { perSecond: count / seconds, perProcessorSecond: (count * 1e6) / busiest };
}

/** The board at an index; where there is one board, that one. */
function placeOf(index: number): BoardLocation {
  const rules = { order: "desc", rankStyle: "competition", isGuarded: false } as const;
  if (variant === "one board") return { ...rules, shards: ["hot"] };
  if (variant === "16 boards") return { ...rules, shards: [`board:${index}`] };
  const others = Array.from({ length: boards - 1 }, (_, shard) => `hot:${shard + 1}`);
  return { ...rules, shards: ["hot:0", ...others] };
}

function anybody(): { readonly user: number; readonly location: BoardLocation; readonly score: number } {
  stamp += 1;
  const user = Math.floor(Math.random() * users);
  return { user, location: locations[user % boards] ?? hot, score: Math.floor(Math.random() * 1e6) };
}

function writing(store: Store): (count: number) => Promise<void> {
  return async count => {
    let left = count;
    async function writer(): Promise<void> {
      while (left > 0) {
        left -= 1;
        const { user, location, score } = anybody();
        const change = {
          userId: `user:${user}`,
          score,
          at: 1_750_000_000_000 + stamp,
          operator: "set",
        } as const;
        await changeScores(store, location, [change]);
      }
    }
    await Promise.all(Array.from({ length: writers }, writer));
  };
}

/** As many users earn something in one turn of the event loop as a busy process has actions. */
function feeding(store: Store): (count: number) => Promise<void> {
  const perTurn = 1_000;
  const feeder = new ScoreDelivery({
    store,
    resolveTarget: async target => locations[Number(target)] ?? "undeclared",
    readScore: async () => null,
    onGivenUp: error => {
      throw error;
    },
    onRefused: () => {},
  });
  return async count => {
    for (let done = 0; done < count; done += perTurn) {
      for (let n = 0; n < perTurn; n++) {
        const { user, score } = anybody();
        const update = { target: String(user % boards), score, at: 1_750_000_000_000 + stamp, asOf: stamp };
        feeder.deliver(`user:${user}`, [update], () => {});
      }
      await feeder.idle();
    }
  };
}

async function serverUs(): Promise<number> {
  if (socket === "") return 0;
  const client = new Redis(socket);
  const info = await client.info("cpu");
  client.disconnect();
  return (
    [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].reduce((sum, [, each]) => sum + Number(each), 0) *
    1e6
  );
}
