/** The ways of taking in and applying actions that `bulk_actions.ts` compares, each run in a process of its own. */

import { Agent, request } from "node:http";
import { Redis } from "ioredis";
import { createMemoryQueue, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisQueue, createRedisStore } from "../../adapters/redis/mod.ts";
import { checkActions } from "../../lib/fans/audience/actions/check_actions.ts";
import { createQueueIntake } from "../../lib/fans/audience/actions/intake.ts";
import { NamedProjects } from "../../lib/fans/audience/batch/items.ts";
import {
  actionShards,
  encodeAction,
  shardOfUser,
  topicOf,
} from "../../lib/fans/audience/worker/queued_action.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import type { Queue, Store } from "../../lib/storage/mod.ts";
import { serve } from "../../runtime/node.ts";
import { eventId, leagueIds, leagueSeed } from "../season/league.ts";
import { testSecret } from "../support/platform.ts";
import { variants } from "./report_action_variants.ts";

/** Actions of one request. */
export const perRequest = 1_000;
/** Requests of one sample. */
export const requests = 200;
/** Actions that one sample applies. */
export const applied = 20_000;
const inFlight = 4;
const callers = 64;
const userCount = 5_000;
const { organisation: organisationId, space: spaceId, project: projectId } = leagueIds;
const matches = [{ id: "Home - Guests", matchday: 1, kickOff: Date.UTC(2025, 0, 1), goals: [1, 0] }] as const;
const data = { eventId: eventId(1), match: "Home - Guests", outcome: "exact" };

/** Samples by name; each is given the socket of a Redis server, and answers actions per second. */
export const samples: ReadonlyMap<string, (socket: string) => Promise<number>> = new Map([
  ["parse and validate", parseAndValidate],
  [
    "accept over HTTP, memory",
    async () => accept(createMemoryStore(), createMemoryQueue({ clock: Date.now })),
  ],
  ["raw pipelined XADD", rawAdd],
  ["accept over HTTP, Redis", async socket => accept(redisStore(socket), redisQueue(socket))],
  ["dedicated script", socket => reported("Redis, dedicated script", socket)],
  ["direct reports, Redis", socket => reported("Redis, library", socket)],
  ["one worker, Redis", async socket => apply(redisStore(socket), redisQueue(socket))],
  ["one worker, memory", async () => apply(createMemoryStore(), createMemoryQueue({ clock: Date.now }))],
]);

function redisStore(socket: string): Store {
  return createRedisStore({ server: `unix://${socket}` });
}

function redisQueue(socket: string): Queue {
  return createRedisQueue({ server: `unix://${socket}` });
}

function userOf(n: number): string {
  return `2a000000-0000-4000-8000-${String(n % userCount).padStart(12, "0")}`;
}

function bodyOf(round: number): string {
  const actions = Array.from({ length: perRequest }, (_, index) => {
    const n = round * perRequest + index;
    return { userId: userOf(n), action: "prediction", actionId: `match-${n}`, data };
  });
  return JSON.stringify({ actions });
}

async function parseAndValidate(): Promise<number> {
  const bodies = Array.from({ length: 50 }, (_, round) => bodyOf(round));
  let count = 0;
  let startedAt = performance.now();
  const projects = new NamedProjects();
  for (let round = 0; round < 2 * requests; round++) {
    if (round === requests) {
      startedAt = performance.now();
      count = 0;
    }
    const parsed: unknown = JSON.parse(bodies[round % bodies.length] ?? "");
    count += checkActions(parsed, { now: Date.now(), userId: null, projects }).length;
  }
  return count / ((performance.now() - startedAt) / 1_000);
}

async function openPlatform(store: Store, queue: Queue): Promise<Platform> {
  await seedDirectory(store, leagueSeed(matches));
  return await createPlatform({
    store,
    queue,
    secret: testSecret,
    defaultSpaceId: spaceId,
    rateLimits: "off",
  });
}

/** Times `requests` requests, a quarter of them for warming up. The client shares this process, and so the measured time. */
async function timed(send: (round: number) => Promise<void>): Promise<number> {
  let next = 0;
  async function lane(end: number): Promise<void> {
    while (next < end) await send(next++);
  }
  const run = (end: number): Promise<unknown> =>
    Promise.all(Array.from({ length: inFlight }, () => lane(end)));
  await run(requests / 4);
  const startedAt = performance.now();
  await run(requests);
  return (((requests * 3) / 4) * perRequest) / ((performance.now() - startedAt) / 1_000);
}

async function accept(store: Store, queue: Queue): Promise<number> {
  const platform = await openPlatform(store, queue);
  const permissions = ["actions:write"] as const;
  const { key, secret } = await platform.apiKeys.create({ organisationId, name: "CRM", permissions });
  const server = await serve(platform.fetch, { host: "127.0.0.1", port: 0 });
  const bodies = Array.from({ length: requests }, (_, round) => Buffer.from(bodyOf(round)));
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const headers = {
    "content-type": "application/json",
    "x-api-key": key,
    "x-api-secret": secret,
    "x-platform-org-id": organisationId,
  };
  const url = `${server.url}/v1/api/audience/internal/actions/bulk`;
  const rate = await timed(round => {
    const body = bodies[round] ?? Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        method: "POST",
        agent,
        headers: { ...headers, "content-length": body.length },
      });
      sent.on("error", reject);
      sent.on("response", response => {
        response.resume();
        response.on("end", () => {
          if (response.statusCode === 202) resolve();
          else reject(new Error(`Expected 202, got ${response.statusCode}`));
        });
      });
      sent.end(body);
    });
  });
  let depth = 0;
  for (let shard = 0; shard < actionShards; shard++) depth += await queue.depth(topicOf(shard, actionShards));
  if (depth !== requests * perRequest) throw new Error(`${depth} actions are queued`);
  agent.destroy();
  await server.stop();
  await queue[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  return rate;
}

/** The same messages by XADD alone, a pipeline of a thousand at a time. */
async function rawAdd(socket: string): Promise<number> {
  const client = new Redis({ path: socket, enableAutoPipelining: false });
  const at = Date.now();
  const messages = Array.from({ length: requests * perRequest }, (_, n) => {
    const queued = {
      organisationId,
      spaceId,
      userId: userOf(n),
      action: "prediction",
      data,
      actionId: `match-${n}`,
      at,
    };
    return [`raw:${shardOfUser(queued.userId, actionShards)}`, encodeAction(queued)] as const;
  });
  const rate = await timed(async round => {
    const pipeline = client.pipeline();
    for (const [key, body] of messages.slice(round * perRequest, (round + 1) * perRequest)) {
      pipeline.xadd(key, "*", "v", body);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
  });
  await client.quit();
  return rate;
}

/** The same actions in a way of `report_action.ts`, without a queue: one script per action, or the library's own. */
async function reported(way: string, socket: string): Promise<number> {
  const reporter = await variants.get(way)?.(socket);
  if (reporter === undefined) throw new Error(`There is no way ${way}`);
  let next = 0;
  const run = (end: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: callers }, async () => {
        while (next < end) await reporter.report(next++);
      }),
    );
  await run(userCount + applied);
  await reporter.idle();
  const startedAt = performance.now();
  await run(userCount + 2 * applied);
  await reporter.idle();
  const rate = applied / ((performance.now() - startedAt) / 1_000);
  await reporter.close();
  return rate;
}

/** Queues `applied` actions, from the `first`th on. */
async function fill(queue: Queue, first: number): Promise<void> {
  const intake = createQueueIntake({
    ...{ queue, shards: actionShards, clock: Date.now, onPushed: () => {} },
    deadLetters: { refusedUsers: async () => new Map() },
  });
  for (let from = first; from < first + applied; from += perRequest) {
    const at = Date.now();
    const actions = Array.from({ length: perRequest }, (_, index) => {
      const n = from + index;
      const [userId, actionId] = [userOf(n), `match-${n}`];
      return { organisationId, spaceId, userId, action: "prediction", data, actionId, at };
    });
    if ((await intake.accept(actions)).some(refusal => refusal !== null)) throw new Error("Not accepted");
  }
}

/** Has one worker empty the queue, and answers how many seconds that took, boards included. */
async function workOff(platform: Platform, queue: Queue): Promise<number> {
  const startedAt = performance.now();
  const worker = platform.startActionWorker();
  for (let shard = 0; shard < actionShards; ) {
    if ((await queue.depth(topicOf(shard, actionShards))) === 0) shard += 1;
    else await new Promise(resolve => setTimeout(resolve, 5));
  }
  await platform.idle();
  const seconds = (performance.now() - startedAt) / 1_000;
  await worker.stop();
  return seconds;
}

/** From a full queue to an empty one, for the second time; at the end every point is counted. */
async function apply(store: Store, queue: Queue): Promise<number> {
  const platform = await openPlatform(store, queue);
  const { loyalty } = platform;
  // The first action sets the user's project and with it the boards.
  for (let first = 0; first < userCount; first += callers) {
    const some = Array.from({ length: Math.min(callers, userCount - first) }, (_, index) =>
      userOf(first + index),
    );
    await Promise.all(
      some.map(userId =>
        loyalty.report(
          { organisationId, spaceId, userId, projectId },
          { action: "prediction", actionId: "first", data, isClientReport: false },
        ),
      ),
    );
  }
  await platform.idle();
  await fill(queue, 0);
  await workOff(platform, queue);
  await fill(queue, applied);
  const rate = applied / (await workOff(platform, queue));
  let points = 0;
  for (let n = 0; n < userCount; n++) {
    const { metrics } = await loyalty.profile({ organisationId, spaceId, userId: userOf(n), projectId });
    points += metrics.points ?? 0;
  }
  const expected = 3 * (2 * applied + userCount);
  if (points !== expected) throw new Error(`The actions made ${points} points, ${expected} were expected`);
  await platform.close();
  await queue[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  return rate;
}
