/**
 * The cost of a bulk action from the request to its effect: server time and Redis time of each, beside the library's own report
 * without HTTP and queue, and beside BullMQ adding and finishing an empty job.
 *
 * ```sh
 * npm run bench -- bulk_end_to_end [rounds]
 * npm ci --prefix test/bench              # once, for the row of BullMQ
 * ```
 *
 * 20,000 actions of 500 users, 1,000 a request, four requests at a time, from a client in a process of its own. The server takes
 * them in and applies them, boards included, after as many others to warm up. Each sample is a fresh process on an empty Redis,
 * and each round reverses the order; medians of processor time.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createRedisQueue, createRedisStore } from "../../adapters/redis/mod.ts";
import { actionShards, topicOf } from "../../lib/fans/audience/worker/queued_action.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import { serve } from "../../runtime/node.ts";
import { eventId, leagueIds, leagueSeed } from "../season/league.ts";
import { testSecret } from "../support/platform.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";
import { userCount as reportingUsers, variants } from "./report_action_variants.ts";

const actions = 20_000;
const users = 500;
const perRequest = 1_000;
const inFlight = 4;
const callers = 64;
const pointsEach = 3;
const { organisation: organisationId, space: spaceId } = leagueIds;
const matches = [{ id: "Home - Guests", matchday: 1, kickOff: Date.UTC(2025, 0, 1), goals: [1, 0] }] as const;
const data = { eventId: eventId(1), match: "Home - Guests", outcome: "exact" };

/** Processor time of an action, in µs. */
interface Sample {
  readonly processUs: number;
  readonly redisUs: number;
}

const samples: Readonly<Record<string, (socket: string) => Promise<Sample>>> = {
  "bulk actions": bulkActions,
  "library's report": libraryReport,
  "BullMQ, empty job": bullmqJobs,
};

const [mode = "3", name = "", socket = "", bullmq = ""] = process.argv.slice(2);
if (mode === "--sample") {
  console.log(JSON.stringify(await samples[name]?.(socket)));
  process.exit();
} else if (mode === "--client") await sendAll(JSON.parse(name) as Target);
else await main(Number(mode));

async function main(rounds: number): Promise<void> {
  const skipped = redisAvailable();
  if (skipped !== false) throw new Error(skipped);
  const server = await startRedis();
  const peer = bullmqPath();
  const names = Object.keys(samples).filter(each => each !== "BullMQ, empty job" || peer !== "");
  const rows = names.map(each => ({ name: each, samples: [] as Sample[] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      await server.flush();
      row.samples.push(await sampleInFreshProcess<Sample>(import.meta.url, row.name, server.socket, peer));
    }
  }
  await server.kill();
  for (const row of rows) {
    const processUs = median(row.samples.map(one => one.processUs));
    const redisUs = median(row.samples.map(one => one.redisUs));
    const isOurs = row.name === "bulk actions";
    figure(
      `${row.name}: server and Redis time each`,
      `${processUs.toFixed(0)} + ${redisUs.toFixed(0)} µs`,
      isOurs ? "250 µs" : "",
    );
  }
}

/** Measures the processor time of this process and of Redis while `work` runs. */
async function measured(redis: RedisTimes, work: () => Promise<void>): Promise<Sample> {
  const [before, redisBefore] = [process.cpuUsage(), await redis.time()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { processUs: (user + system) / actions, redisUs: (await redis.time()) - redisBefore };
}

interface RedisTimes {
  /** Processor time of the server so far, in µs per action. */
  time(): Promise<number>;
}

async function redisTimes(path: string): Promise<RedisTimes> {
  const { Redis } = await import("ioredis");
  const client = new Redis({ path });
  return {
    async time() {
      const info = await client.info("cpu");
      const of = (field: string): number => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1]);
      return ((of("used_cpu_user") + of("used_cpu_sys")) * 1e6) / actions;
    },
  };
}

interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly first: number;
}

async function bulkActions(path: string): Promise<Sample> {
  const server = `unix://${path}`;
  const [store, queue] = [createRedisStore({ server }), createRedisQueue({ server })];
  await seedDirectory(store, leagueSeed(matches));
  const platform = await createPlatform({
    store,
    queue,
    secret: testSecret,
    defaultSpaceId: spaceId,
    rateLimits: "off",
  });
  const permissions = ["actions:write"] as const;
  const { key, secret } = await platform.apiKeys.create({ organisationId, name: "CRM", permissions });
  const { url } = await serve(platform.fetch, { host: "127.0.0.1", port: 0 });
  platform.startActionWorker();
  const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": organisationId };
  const send = async (first: number): Promise<void> => {
    const target: Target = { url, headers, first };
    const client = spawn(
      process.execPath,
      [fileURLToPath(import.meta.url), "--client", JSON.stringify(target)],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const [code] = await once(client, "exit");
    if (code !== 0) throw new Error(`The client ended with ${code}`);
    for (let shard = 0; shard < actionShards; ) {
      if ((await queue.depth(topicOf(shard, actionShards))) === 0) shard += 1;
      else await new Promise(resolve => setTimeout(resolve, 20));
    }
    await platform.idle();
  };
  await send(0);
  const sample = await measured(await redisTimes(path), () => send(actions));
  await assertApplied(platform);
  return sample;
}

/** Every action of a prediction that came true earns points, once. */
async function assertApplied({ loyalty }: Platform): Promise<void> {
  let points = 0;
  for (let n = 0; n < users; n++) {
    const member = { organisationId, spaceId, userId: userOf(n), projectId: null };
    points += (await loyalty.profile(member)).metrics.points ?? 0;
  }
  if (points !== 2 * actions * pointsEach) throw new Error(`${2 * actions} actions made ${points} points`);
}

function userOf(n: number): string {
  return `2a000000-0000-4000-8000-${String(n % users).padStart(12, "0")}`;
}

/** The client: sends `actions` actions from the `first` on. */
async function sendAll({ url, headers, first }: Target): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  let next = first;
  async function lane(): Promise<void> {
    while (next < first + actions) {
      const from = next;
      next += perRequest;
      const body = JSON.stringify({
        actions: Array.from({ length: perRequest }, (_, index) => {
          const n = from + index;
          return { userId: userOf(n), action: "prediction", actionId: `match-${n}`, data };
        }),
      });
      await new Promise<void>((resolve, reject) => {
        const sent = request(`${url}/v1/api/audience/internal/actions/bulk`, {
          method: "POST",
          agent,
          headers: { ...headers, "content-type": "application/json", "content-length": body.length },
        });
        sent.on("error", reject);
        sent.on("response", response => {
          response.resume();
          if (response.statusCode !== 202) reject(new Error(`Expected 202, got ${response.statusCode}`));
          response.on("end", resolve);
        });
        sent.end(body);
      });
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane));
  agent.destroy();
}

async function libraryReport(path: string): Promise<Sample> {
  const reporter = await variants.get("Redis, library")?.(path);
  if (reporter === undefined) throw new Error("There is no such variant");
  let next = 0;
  const run = async (end: number): Promise<void> => {
    const lane = async (): Promise<void> => {
      while (next < end) await reporter.report(next++);
    };
    await Promise.all(Array.from({ length: callers }, lane));
    await reporter.idle();
  };
  await run(2 * reportingUsers + actions);
  return await measured(await redisTimes(path), () => run(2 * reportingUsers + 2 * actions));
}

/** The part of BullMQ that is used here. */
interface Bullmq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => { addBulk(jobs: readonly { readonly name: string; readonly data: object }[]): Promise<unknown> };
  readonly Worker: new (
    name: string,
    handle: () => Promise<void>,
    options: object,
  ) => { on(event: "completed", listener: () => void): unknown };
}

/** The file of BullMQ, or nothing where it is not installed. */
function bullmqPath(): string {
  try {
    return createRequire(new URL("package.json", import.meta.url)).resolve("bullmq");
  } catch {
    return "";
  }
}

async function bullmqJobs(path: string): Promise<Sample> {
  const { Queue, Worker } = (await import(pathToFileURL(bullmq).href)) as Bullmq;
  const connection = { path, maxRetriesPerRequest: null };
  const queue = new Queue("jobs", { connection, defaultJobOptions: { removeOnComplete: true } });
  let completed = 0;
  let done = (): void => {};
  new Worker("jobs", async () => {}, { connection, concurrency: callers }).on("completed", () => {
    completed += 1;
    if (completed % actions === 0) done();
  });
  const run = async (): Promise<void> => {
    const finished = new Promise<void>(resolve => {
      done = resolve;
    });
    for (let from = 0; from < actions; from += perRequest) {
      await queue.addBulk(Array.from({ length: perRequest }, () => ({ name: "empty", data })));
    }
    await finished;
  };
  await run();
  return await measured(await redisTimes(path), run);
}
