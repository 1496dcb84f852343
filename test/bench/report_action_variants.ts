/** The ways of reporting an action that `report_action.ts` compares. */

import { Redis } from "ioredis";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { ActionData } from "../../lib/fans/loyalty/config/rules.ts";
import { createPlatform, type Handler, type Platform } from "../../lib/mod.ts";
import type { Store, Write } from "../../lib/storage/mod.ts";
import { eventId, leagueIds, leagueSeed } from "../season/league.ts";
import { testSecret } from "../support/platform.ts";
import { CountingStore, type Trips } from "./counting_store.ts";

/** Users that take turns. */
export const userCount = 5_000;

/** Elements that users vote for, one after the other: more than a sample has votes of a user. */
const votedElements = 8;
/** Reports in a row that a hot user makes. */
const hotReports = 5_000;
/** Points that each report earns. */
const pointsEach = 3;

/** One way of reporting, ready. */
export interface Reporter {
  /** Reports the `n`th action; user `n % userCount` does it, and it has taken effect when the promise resolves. */
  report(n: number): Promise<unknown>;
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

/** One user at a time, and the next before the ids of a week are used up. */
function hotUserOf(n: number): string {
  return users[Math.floor(n / hotReports)] ?? "";
}

/** The variants by name. Each is made with the path of a Redis server's socket. */
export const variants: ReadonlyMap<string, (socket: string) => Promise<Reporter>> = new Map([
  ["memory, library", async () => library(createMemoryStore({ clock: Date.now }), userOf)],
  ["memory, library, one user", async () => library(createMemoryStore({ clock: Date.now }), hotUserOf)],
  ["memory, library, votes", async () => voting(createMemoryStore({ clock: Date.now }))],
  ["memory, handler", async () => handler(createMemoryStore({ clock: Date.now }), bridgeRequest)],
  [
    "memory, handler, undici Request",
    async () => handler(createMemoryStore({ clock: Date.now }), undiciRequest),
  ],
  ["Redis, dedicated script", dedicated],
  ["Redis, library", async socket => library(redisStore(socket), userOf)],
  ["Redis, library, one user", async socket => library(redisStore(socket), hotUserOf)],
  ["Redis, library, votes", async socket => voting(redisStore(socket))],
  ["Redis, handler", async socket => handler(redisStore(socket), bridgeRequest)],
]);

function redisStore(socket: string): Store {
  return createRedisStore({ server: `unix://${socket}`, prefix: `${process.pid}:` });
}

async function openPlatform(store: Store): Promise<Platform> {
  await seedDirectory(store, leagueSeed(matches));
  return await createPlatform({ store, secret: testSecret, defaultSpaceId: spaceId, control: createControl });
}

/** Reports of votes, each of a user for another element. */
async function voting(inner: Store): Promise<Reporter> {
  return await library(inner, userOf, async platform => {
    const ids = await publishElements(platform, votedElements);
    // Made before, like the data of plain reports: what the caller does is not measured.
    const votes = ids.map((elementId): ActionData => ({ ...data, elementId, option: 1 }));
    return n => votes[Math.floor(n / userCount) % votedElements] ?? data;
  });
}

async function library(
  inner: Store,
  user: (n: number) => string,
  dataFor: (platform: Platform) => Promise<(n: number) => ActionData> = async () => () => data,
): Promise<Reporter> {
  const store = new CountingStore(inner);
  const platform = await openPlatform(store);
  const dataOf = await dataFor(platform);
  let reports = 0;
  return {
    report(n) {
      reports += 1;
      return platform.loyalty.report(
        { organisationId, spaceId, userId: user(n), projectId },
        { action: "prediction", actionId: `match-${n}`, data: dataOf(n), isClientReport: true },
      );
    },
    idle: () => platform.idle(),
    trips: store.trips,
    async close() {
      const points = await pointsOfAll(platform);
      if (points !== reports * pointsEach) throw new Error(`${reports} reports made ${points} points`);
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Publishes predictions in an event that is running. */
async function publishElements(platform: Platform, count: number): Promise<readonly string[]> {
  const author = await platform.authors.findOrCreate("producer@example.com", { operator: true });
  const { token } = await platform.authors.createToken({ userId: author.id, name: "Benchmark" });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/vnd.api+json" };
  const write = async (method: string, path: string, document: object): Promise<string> => {
    const request = { method, headers, body: JSON.stringify({ data: document }) };
    const answer = await platform.fetch(new Request(`http://league.example/api/v2${path}`, request));
    if (answer.status >= 300) throw new Error(await answer.text());
    return answer.status === 204 ? "" : (await answer.json()).data.id;
  };
  const project = { data: { type: "projects", id: projectId } };
  const event = {
    type: "events",
    attributes: { name: "Show", duration: 36_000 },
    relationships: { project },
  };
  const id = await write("POST", "/events", event);
  await write("PATCH", `/events/${id}`, { type: "events", id, attributes: { action: "start" } });
  const attributes = { content_type: "prediction", question: { options: [{ fields: [] }, { fields: [] }] } };
  const relationships = { event: { data: { type: "events", id } } };
  const published = { ...attributes, action: "publish" };
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    ids.push(await write("POST", "/elements", { type: "elements", attributes: published, relationships }));
  }
  return ids;
}

/** The points that all users have together: none is lost, none counts twice. */
async function pointsOfAll({ loyalty }: Platform): Promise<number> {
  let sum = 0;
  for (const userId of users) {
    const { metrics } = await loyalty.profile({ organisationId, spaceId, userId, projectId });
    sum += metrics.points ?? 0;
  }
  return sum;
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

/**
 * A dedicated implementation of exactly this: the state is read, changed and written in one script, the action id
 * marked, the history kept in bounds, and both boards moved, all on one server.
 */
const dedicatedScript = `
if redis.call('HSETNX', KEYS[2], ARGV[2], 1) == 0 then return 0 end
local state = cjson.decode(redis.call('GET', KEYS[1]) or ARGV[1])
local old = state.metrics.points or 0
local new = old + tonumber(ARGV[4])
state.metrics.points = new
state.revision = state.revision + 1
state.changedAt = tonumber(ARGV[6])
state.seen.count = state.seen.count + 1
redis.call('SET', KEYS[1], cjson.encode(state))
local entry = ARGV[6] .. ' ' .. string.format(ARGV[3], old, new)
if redis.call('RPUSH', KEYS[3], entry) > tonumber(ARGV[7]) then
  redis.call('LTRIM', KEYS[3], '-' .. ARGV[7], -1)
end
redis.call('ZADD', KEYS[4], -new, ARGV[5])
redis.call('ZADD', KEYS[5], -new, ARGV[5])
return new`;
const historyMax = 10_000;

/**
 * The same report as one call of a dedicated script. It decides less than the platform does: one rule that is part of the
 * script, no conditions, no bounds, no order among equal scores, and boards that must be on the server of the user.
 */
async function dedicated(socket: string): Promise<Reporter> {
  const { state, entry } = await sampleValues();
  const client = new Redis({ path: socket, enableAutoPipelining: false });
  const sha = String(await client.script("LOAD", dedicatedScript));
  const prefix = `${process.pid}:`;
  return {
    async report(n) {
      const user = userOf(n);
      const keys = [`${prefix}${user}:state`, `${prefix}${user}:seen`, `${prefix}${user}:history`];
      const boards = [`${prefix}overall`, `${prefix}round`];
      const args = [state, `match-${n}`, entry, 3, user, Date.now(), historyMax];
      const points = await client.evalsha(sha, 5, ...keys, ...boards, ...args);
      if (points === 0) throw new Error("Expected the action to be new");
    },
    async idle() {},
    trips: null,
    async close() {
      await client.quit();
    },
  };
}

/** A state and a history entry as the platform writes them, the entry with places for the old and the new value. */
async function sampleValues(): Promise<{ state: string; entry: string }> {
  const store = new CountingStore(createMemoryStore({ clock: Date.now }));
  const platform = await openPlatform(store);
  const report = { action: "prediction", actionId: "match-1", data, isClientReport: true };
  await platform.loyalty.report({ organisationId, spaceId, userId: userOf(0), projectId }, report);
  await platform.idle();
  const writes: readonly Write[] = store.lastLoyaltyBatch?.writes ?? [];
  const valueAt = (key: string): string =>
    writes.flatMap(write => ("value" in write && write.key === key ? [write.value] : [])).join("");
  // The script moves the boards itself, so that nothing is left to be delivered.
  const state = JSON.stringify({ ...JSON.parse(valueAt("loyalty")), metrics: {}, undelivered: [] });
  const entry = valueAt("history").replace(`"points":[0,${pointsEach}]`, '"points":[%d,%d]');
  return { state, entry };
}
