/**
 * A hundred profiles in one request, beside a hundred raw pipelined reads of the same keys.
 *
 * ```sh
 * npm run bench -- batched_profiles [rounds, by default 3]
 * ```
 *
 * Every sample is the median of many calls in a process of its own, one after the other, and each round reverses the order. Every
 * user has a profile, a loyalty record, 40 history records and a few notifications. `raw` is bare ioredis: for each user one
 * pipelined GET of the profile, GET of the loyalty record, GET of what was read and LRANGE of the notifications, with nothing
 * parsed. `profiles` is the library call, `request` the whole handler with the checks of the key and the JSON of the answer,
 * both by a process that has shown these users before. `first request` is the same by a process that has not, but knows the
 * organisation.
 */

import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { createFieldIndexes } from "../../lib/fans/audience/profile/field_index.ts";
import { createProfiles } from "../../lib/fans/audience/profile/profiles.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import { mapConcurrent } from "../../lib/storage/background/mod.ts";
import { newKey } from "../http/_operations.ts";
import { quickKernels } from "../support/kernels.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";

/** Most that a request may take of what the raw reads take. */
const bars = new Map([
  ["request", 1.2],
  ["first request", 1.6],
]);
const callsPerSample = 200;
const warmUpCalls = 100;
const actionsPerUser = 40;
const path = "/v1/api/audience/internal/profiles";

const users = Array.from({ length: 100 }, (_, n) => `user-${n}`);
const members = users.map(userId => ({
  organisationId: ids.organisation,
  spaceId: ids.space,
  userId,
  projectId: null,
}));

/** The timed work; prepared before the clock starts. */
type Way = () => Promise<() => Promise<unknown>>;

const names = ["raw", "profiles", "request", "first request"];
const [mode = "3", on = "", way = "", socket = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample()));
else await main(Number(mode));

async function main(rounds: number): Promise<void> {
  const server = await startRedis();
  try {
    await compare("Redis", names, { rounds, socket: server.socket });
  } finally {
    await server.kill();
  }
  await compare("memory", names.slice(1), { rounds, socket: "" });
}

async function compare(
  store: string,
  ways: readonly string[],
  { rounds, socket }: { readonly rounds: number; readonly socket: string },
): Promise<void> {
  const times = new Map(ways.map(name => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? ways : ways.toReversed()) {
      times.get(name)?.push(await sampleInFreshProcess<number>(import.meta.url, store, name, socket));
    }
  }
  const raw = times.get("raw");
  for (const [name, samples] of times) {
    const ratio = raw === undefined ? "" : `, ${(median(samples) / median(raw)).toFixed(2)} of raw`;
    const all = samples.map(ms => ms.toFixed(2)).join(" ");
    console.log(`${store}: 100 ${name}: ${median(samples).toFixed(2)} ms${ratio} (${all})`);
  }
  if (raw === undefined) return;
  for (const [name, bar] of bars) {
    const times100 = (median(times.get(name) ?? []) / median(raw)).toFixed(2);
    figure(
      `100 profiles over HTTP on Redis, ${name}, to 100 raw pipelined reads`,
      `${times100} times the time`,
      `${bar}`,
    );
  }
}

/** The median duration of a call, in ms. */
async function sample(): Promise<number> {
  const prefix = `b:${randomUUID()}:`;
  const server = `unix://${socket}`;
  const world = await openPlatform(async clock =>
    on === "Redis" ? createRedisStore({ server, prefix, clock }) : createMemoryStore({ clock }),
  );
  const closing: (() => unknown)[] = [];
  try {
    await fill(world);
    const headers = await keyFor(world);
    const prepare = {
      raw: rawWay,
      profiles: profilesWay,
      request: requestWay,
      "first request": firstRequestWay,
    }[way];
    if (prepare === undefined) throw new RangeError(`Cannot measure ${way}: it is unknown`);
    const run = await prepare(world, { headers, prefix, closing });
    const times: number[] = [];
    for (let call = 0; call < warmUpCalls + callsPerSample; call++) {
      const timed = await run();
      const start = performance.now();
      await timed();
      if (call >= warmUpCalls) times.push(performance.now() - start);
    }
    return median(times);
  } finally {
    for (const close of closing) await close();
    await world.dispose();
  }
}

interface Prepared {
  readonly headers: Readonly<Record<string, string>>;
  readonly prefix: string;
  /** Takes what is to be closed in the end. */
  readonly closing: (() => unknown)[];
}

async function rawWay(_: TestPlatform, { prefix, closing }: Prepared): Promise<Way> {
  const client = new Redis(socket);
  closing.push(() => client.disconnect());
  const keys = await keysOf(client, prefix);
  return async () => () => readRaw(client, keys);
}

async function profilesWay({ store, clock, platform }: TestPlatform): Promise<Way> {
  const { loyalty, directory } = platform;
  const fields = createFieldIndexes({ store, directory, clock: clock.now, random: systemRandom });
  const profiles = createProfiles(store, clock.now, { loyalty, fields });
  return async () => () => mapConcurrent(members, 100, member => profiles.get(member));
}

/** Requests a platform of its own: test platforms compare every reply with its schema. */
async function requestWay(world: TestPlatform, { headers, closing }: Prepared): Promise<Way> {
  const platform = await newProcess(world);
  closing.push(() => platform.close());
  return async () => () => request(platform, { headers, users });
}

async function firstRequestWay(world: TestPlatform, { headers, closing }: Prepared): Promise<Way> {
  return async () => {
    const other = await newProcess(world);
    closing.push(() => other.close());
    await request(other, { headers, users: ["nobody"] });
    return () => request(other, { headers, users });
  };
}

async function fill({ platform, clock }: TestPlatform): Promise<void> {
  const { loyalty } = platform;
  await mapConcurrent(members, 100, async member => {
    for (let n = 0; n < actionsPerUser; n++) {
      const outcome = n % 2 === 0 ? "exact" : "right";
      await loyalty.report(member, { action: "prediction", data: { outcome }, isClientReport: false });
    }
  });
  clock.advance(1_000);
  await platform.idle();
}

/** Gives users profiles with an API key, and answers the headers with which it reads them. */
async function keyFor(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const { key, secret } = await newKey(world);
  const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
  const updates = users.map(userId => ({ userId, displayName: userId, preferences: { language: "en" } }));
  await world.call(`${path}/update-batch`, { headers, body: updates });
  return headers;
}

/** Another process on the same store. */
function newProcess({ store, clock }: TestPlatform): Promise<Platform> {
  const passwordKernels = quickKernels();
  return createPlatform({
    store,
    clock: clock.now,
    secret: testSecret,
    passwordKernels,
    defaultSpaceId: ids.space,
  });
}

async function request(
  { fetch }: Platform,
  {
    headers,
    users,
  }: { readonly headers: Readonly<Record<string, string>>; readonly users: readonly string[] },
): Promise<void> {
  const answer = await fetch(new Request(`http://club.example${path}?user_ids=${users.join()}`, { headers }));
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(text);
}

/** The keys under which the adapter keeps what a profile shows, as they are in Redis. */
async function keysOf(client: Redis, prefix: string): Promise<readonly (readonly string[])[]> {
  const all = await client.keys(`*${prefix}*:loyalty:*`);
  return users.map(userId =>
    all.filter(
      key => key.includes(`:loyalty:${userId}}`) && /(profile|loyalty|inbox|notifications)$/.test(key),
    ),
  );
}

async function readRaw(client: Redis, names: readonly (readonly string[])[]): Promise<unknown> {
  const pipeline = client.pipeline();
  for (const keys of names) {
    for (const key of keys) {
      if (key.endsWith("notifications")) pipeline.lrange(key, -100, -1);
      else pipeline.get(key);
    }
  }
  return await pipeline.exec();
}
