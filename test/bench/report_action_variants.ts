/** The ways of reporting an action that `report_action.ts` compares. */

import { Redis } from "ioredis";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { seedDirectory } from "../../lib/directory/mod.ts";
import { createPlatform, type Handler, type Platform } from "../../lib/mod.ts";
import type { Store, Write } from "../../lib/storage/mod.ts";
import { eventId, leagueIds, leagueSeed } from "../season/league.ts";
import { testSecret } from "../support/platform.ts";
import { CountingStore, type Trips } from "./counting_store.ts";

/** Users that take turns. */
export const userCount = 5_000;

/** One way of reporting, ready. */
export interface Reporter {
  /** Reports the `n`th action; user `n % userCount` does it, and it has taken effect when the promise resolves. */
  report(n: number): Promise<void>;
  /** Resolves when the background work is done. */
  idle(): Promise<void>;
  /** Null where nothing is counted. */
  readonly trips: Trips | null;
  close(): Promise<void>;
}

const { organisation: organisationId, space: spaceId, project: projectId } = leagueIds;
const matches = [{ id: "Home - Guests", matchday: 1, kickOff: Date.UTC(2025, 0, 1), goals: [1, 0] }] as const;
const data = { eventId: eventId(1), match: "Home - Guests", outcome: "exact" };
const users: readonly string[] = Array.from(
  { length: userCount },
  (_, index) => `2a000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
);

function userOf(n: number): string {
  return users[n % userCount] ?? "";
}

/** The variants by name. Each is made with the path of a Redis server's socket. */
export const variants: ReadonlyMap<string, (socket: string) => Promise<Reporter>> = new Map([
  ["memory, library", async () => library(createMemoryStore({ clock: Date.now }))],
  ["memory, handler", async () => handler(createMemoryStore({ clock: Date.now }), bridgeRequest)],
  [
    "memory, handler, undici Request",
    async () => handler(createMemoryStore({ clock: Date.now }), undiciRequest),
  ],
  ["Redis, bare script", baseline],
  ["Redis, library", async socket => library(redisStore(socket))],
  ["Redis, handler", async socket => handler(redisStore(socket), bridgeRequest)],
]);

function redisStore(socket: string): Store {
  return createRedisStore({ server: `unix://${socket}`, prefix: `${process.pid}:` });
}

async function openPlatform(store: Store): Promise<Platform> {
  await seedDirectory(store, leagueSeed(matches));
  return await createPlatform({ store, secret: testSecret, defaultSpaceId: spaceId });
}

async function library(inner: Store): Promise<Reporter> {
  const store = new CountingStore(inner);
  const platform = await openPlatform(store);
  return {
    report: n =>
      platform.loyalty.report(
        { organisationId, spaceId, userId: userOf(n), projectId },
        { action: "prediction", actionId: `match-${n}`, data, isClientReport: true },
      ),
    idle: () => platform.idle(),
    trips: store.trips,
    close: () => store[Symbol.asyncDispose](),
  };
}

type MakeRequest = (token: string, body: string) => Request;

async function handler(inner: Store, makeRequest: MakeRequest): Promise<Reporter> {
  const store = new CountingStore(inner);
  const platform = await openPlatform(store);
  const tokens = await signIn(platform);
  const answer: Handler = platform.handler(["loyalty"]);
  return {
    async report(n) {
      const body = JSON.stringify({ action: "prediction", actionId: `match-${n}`, data });
      const response = await answer(makeRequest(tokens[n % userCount] ?? "", body), { framed: true });
      if (response.status !== 200) throw new Error(`Expected 200, got ${response.status}`);
    },
    idle: () => platform.idle(),
    trips: store.trips,
    close: () => store[Symbol.asyncDispose](),
  };
}

async function signIn({ directory, spaceTokens }: Platform): Promise<readonly string[]> {
  const space = await directory.space(spaceId);
  if (space === null) throw new Error("The space was not seeded");
  const tokens: string[] = [];
  for (const userId of users) {
    const issued = await spaceTokens.issue(space, {
      kind: "user",
      userId,
      organisationId,
      spaceId,
      projectId,
    });
    tokens.push(issued.accessToken);
  }
  return tokens;
}

function undiciRequest(token: string, body: string): Request {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return new Request("http://league.example/api/loyalty/action", { method: "POST", headers, body });
}

/** A request as the bridge of a server makes it: nothing is built before it is asked for. */
function bridgeRequest(token: string, body: string): Request {
  const bytes = new TextEncoder().encode(body);
  const fields: Record<string, string> = {
    host: "league.example",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": String(bytes.byteLength),
  };
  const headers = { get: (name: string) => fields[name] ?? null, has: (name: string) => name in fields };
  return {
    method: "POST",
    url: "http://league.example/api/loyalty/action",
    headers,
    bodyUsed: false,
    arrayBuffer: async () => bytes.buffer,
  } as unknown as Request;
}

const bareScript = `redis.call('SET', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
redis.call('SET', KEYS[3], ARGV[3])
redis.call('XADD', KEYS[4], 'MAXLEN', 10000, '*', 'v', ARGV[4])
redis.call('ZADD', KEYS[5], ARGV[5], ARGV[6])
redis.call('ZADD', KEYS[6], ARGV[5], ARGV[6])
return 1`;

/**
 * The writes of one report with values of the same sizes, its two boards included, as one script: nothing is read, decided,
 * checked or ordered, and boards are written one user at a time.
 */
async function baseline(socket: string): Promise<Reporter> {
  const { record, sum, entry } = await sampleValues();
  const client = new Redis({ path: socket });
  const sha = String(await client.script("LOAD", bareScript));
  const prefix = `${process.pid}:`;
  return {
    async report(n) {
      const user = userOf(n);
      const keys = ["r", "t", "s", "l"].map(shape => `${prefix}${user}:${shape}`);
      const boards = [`${prefix}overall`, `${prefix}round`];
      await client.evalsha(sha, 6, ...keys, ...boards, record, `match-${n}`, sum, entry, -n, user);
    },
    async idle() {},
    trips: null,
    async close() {
      await client.quit();
    },
  };
}

/** What the platform writes for one report. */
async function sampleValues(): Promise<{ record: string; sum: string; entry: string }> {
  const store = new CountingStore(createMemoryStore({ clock: Date.now }));
  const platform = await openPlatform(store);
  const report = { action: "prediction", actionId: "match-1", data, isClientReport: true };
  await platform.loyalty.report({ organisationId, spaceId, userId: userOf(0), projectId }, report);
  await platform.idle();
  const writes: readonly Write[] = store.lastMemberBatch?.writes ?? [];
  const storedValue = (key: string): string =>
    writes.flatMap(write => ("value" in write && write.key.startsWith(key) ? [write.value] : [])).join("");
  return { record: storedValue("loyalty"), sum: storedValue("sum:"), entry: storedValue("history") };
}
