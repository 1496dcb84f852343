/**
 * The cost of reporting an action, end to end: from the call to the effect that the next read sees.
 *
 *     npm run bench -- report_action [rounds]
 *
 * 64 callers, 5,000 users in turns ("one user": all callers report for the same), a new action id each time, three points
 * each time, and at the end every point is counted. An action moves two boards, in the
 * background; that work falls into the measured time and is counted apart. "Dedicated script" is one script per report
 * that reads the state, checks the action id and writes state, mark, history and both boards. Each sample is a fresh process and each round reverses the order; medians, with all
 * samples in thousands a second. Round trips are calls of the store, each of which is one exchange with Redis. Users report
 * twice before anything is measured: what is done once for a user, and once an hour, is not part of it. The last line
 * compares processor time, of client and server together, with that of the dedicated script.
 *
 * @module
 */

import { Redis } from "ioredis";
import { redisAvailable, startRedis } from "../support/redis.ts";
import type { RedisProcess } from "../support/redis_process.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";
import { type Reporter, userCount, variants } from "./report_action_variants.ts";

const callers = 64;
const reportsPerSample = 20_000;
const warmUpReports = 2 * userCount;
/** Most round trips that a report waits for on average, once its user is known. */
const requestTripsMax = 1.01;

interface Sample {
  readonly perSecond: number;
  readonly processorUs: number;
  /** Of the Redis server, per report; null without one. */
  readonly serverUs: number | null;
  /** Per report; null where nothing is counted. */
  readonly trips: { readonly loyalty: number; readonly board: number; readonly other: number } | null;
}

interface Row {
  readonly name: string;
  readonly samples: Sample[];
}

const [mode = "3", name = "", socket = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample(name, socket)));
else await main(Number(mode));

async function main(rounds: number): Promise<void> {
  const skipped = redisAvailable();
  const server = skipped === false ? await startRedis() : null;
  const names = [...variants.keys()].filter(each => server !== null || each.startsWith("memory"));
  const rows = names.map((each): Row => ({ name: each, samples: [] }));
  try {
    for (let round = 0; round < rounds; round++) {
      for (const row of round % 2 === 0 ? rows : rows.toReversed()) await addSample(row, server);
    }
  } finally {
    await server?.kill();
  }
  print(rows);
  if (skipped !== false) console.log(`\nWithout Redis: ${skipped}`);
}

async function addSample({ name, samples }: Row, server: RedisProcess | null): Promise<void> {
  await server?.flush();
  samples.push(await sampleInFreshProcess<Sample>(import.meta.url, name, server?.socket ?? ""));
}

async function serverCpuUs(server: Redis): Promise<number> {
  const info = await server.info("cpu");
  const seconds = [...info.matchAll(/used_cpu_(?:user|sys):([\d.]+)/g)].map(([, value]) => Number(value));
  return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
}

async function sample(variant: string, path: string): Promise<Sample> {
  const open = variants.get(variant);
  if (open === undefined) throw new RangeError(`Cannot measure ${variant}: it is unknown`);
  const reporter = await open(path);
  const server = variant.startsWith("memory") ? null : new Redis({ path });
  await run(reporter, 0, warmUpReports);
  await reporter.idle();
  const serverBefore = server === null ? 0 : await serverCpuUs(server);
  const tripsBefore = reporter.trips === null ? null : { ...reporter.trips };
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await run(reporter, warmUpReports, reportsPerSample);
  const seconds = (performance.now() - startedAt) / 1_000;
  await reporter.idle();
  const { user, system } = process.cpuUsage(cpuBefore);
  const serverUs = server === null ? null : ((await serverCpuUs(server)) - serverBefore) / reportsPerSample;
  server?.disconnect();
  const trips =
    reporter.trips === null || tripsBefore === null
      ? null
      : {
          loyalty: (reporter.trips.loyalty - tripsBefore.loyalty) / reportsPerSample,
          board: (reporter.trips.board - tripsBefore.board) / reportsPerSample,
          other: (reporter.trips.other - tripsBefore.other) / reportsPerSample,
        };
  await reporter.close();
  if (trips !== null && trips.loyalty > requestTripsMax) {
    throw new Error(`A report waited for ${trips.loyalty} round trips, ${requestTripsMax} are promised`);
  }
  const processorUs = (user + system) / reportsPerSample;
  return { perSecond: reportsPerSample / seconds, processorUs, serverUs, trips };
}

async function run({ report }: Reporter, start: number, count: number): Promise<void> {
  let next = start;
  async function call(): Promise<void> {
    while (next < start + count) await report(next++);
  }
  await Promise.all(Array.from({ length: callers }, call));
}

function print(rows: readonly Row[]): void {
  console.log(
    `node ${process.version}, ${callers} callers, ${userCount} users, ${reportsPerSample} reports a sample\n`,
  );
  console.log(
    "| way | reports/s | reports per core second | processor us | server us | trips of the request | of the board feed | other | raw, thousands/s |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|");
  for (const { name: way, samples } of rows) {
    const processorUs = median(samples.map(each => each.processorUs));
    const trips = (of: "loyalty" | "board" | "other"): string =>
      samples[0]?.trips == null ? "-" : median(samples.map(each => each.trips?.[of] ?? 0)).toFixed(4);
    const cells = [
      way,
      Math.round(median(samples.map(each => each.perSecond))),
      Math.round(1e6 / processorUs),
      processorUs.toFixed(1),
      way.startsWith("memory") ? "-" : serverUsOf(samples).toFixed(1),
      trips("loyalty"),
      trips("board"),
      trips("other"),
      samples.map(each => (each.perSecond / 1_000).toFixed(1)).join(" "),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  const totalOf = (way: string): number => {
    const samples = rows.find(({ name }) => name === way)?.samples ?? [];
    return median(samples.map(each => each.processorUs)) + serverUsOf(samples);
  };
  const ratio = totalOf("Redis, dedicated script") / totalOf("Redis, library");
  for (const { name: way, samples } of rows) {
    const us =
      median(samples.map(each => each.processorUs)) + (way.startsWith("memory") ? 0 : serverUsOf(samples));
    if (way.includes("library"))
      figure(`report an action: ${way}`, `${Math.round(1e6 / us).toLocaleString("en")}/s per core second`);
  }
  if (!Number.isNaN(ratio))
    figure("report an action on Redis to a dedicated script", ratio.toFixed(2), "0.65");
}

function serverUsOf(samples: readonly Sample[]): number {
  return median(samples.map(each => each.serverUs ?? Number.NaN));
}
