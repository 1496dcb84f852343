/**
 * A hundred profiles in one request, beside a hundred raw pipelined reads of the same keys.
 *
 * ```sh
 * node --import tsx test/bench/batched_profiles.ts
 * ```
 *
 * Both ways run in one process against one Redis, in turns. Every user has a profile, a loyalty record, 40 history records and a
 * few notifications. `raw` is bare ioredis: for each user one pipelined GET of the profile, GET of the loyalty record, GET of
 * what was read and LRANGE of the notifications, with nothing parsed. `profiles` is the library call, `request` the whole
 * handler with the checks of the key and the JSON of the answer, both by a process that has shown these users before.
 * `first request` is the same by a process that has not, but knows the organisation.
 */
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { batchReadLanes, batchUsersMax, createProfiles } from "../../lib/audience/mod.ts";
import { memberPartition } from "../../lib/loyalty/mod.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import { sideBySide } from "../../lib/storage/mod.ts";
import { newKey } from "../http/_operations.ts";
import { quickKernels } from "../support/kernels.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { median } from "./harness.ts";

const barRatioMax = 1.5;
const rounds = 60;
const warmupRounds = 40;
const actionsPerUser = 40;
const path = "/v1/api/audience/internal/profiles";

const users = Array.from({ length: batchUsersMax }, (_, n) => `user-${n}`);
const members = users.map(userId => ({
  organisationId: ids.organisation,
  spaceId: ids.space,
  userId,
  projectId: null,
}));

const server = await startRedis();
const prefix = `b:${randomUUID()}:`;
const raw = new Redis(server.socket);
try {
  await measure("Redis", async clock => createRedisStore({ server: server.url, prefix, clock }), readRaw);
  await measure("memory", async clock => createMemoryStore({ clock }), null);
} finally {
  raw.disconnect();
  await server.kill();
}

async function measure(
  on: string,
  open: Parameters<typeof openPlatform>[0],
  baseline: ((names: readonly (readonly string[])[]) => Promise<unknown>) | null,
): Promise<void> {
  const world = await openPlatform(open);
  try {
    await fill(world);
    const headers = await keyFor(world);
    const { store, clock, platform } = world;
    const profiles = createProfiles({
      store,
      clock: clock.now,
      loyalty: platform.loyalty,
      partitionOf: memberPartition,
    });
    const names = baseline === null ? [] : await keysOf();
    const others: Platform[] = [];
    // Each way is prepared before the clock starts.
    const ways: Record<string, () => Promise<() => Promise<unknown>>> = {
      ...(baseline === null ? {} : { raw: async () => () => baseline(names) }),
      profiles: async () => () => sideBySide(members, batchReadLanes, member => profiles.see(member)),
      request: async () => () => request(platform, { headers, users }),
      "first request": async () => {
        const other = await newProcess(world);
        others.push(other);
        await request(other, { headers, users: ["nobody"] });
        return () => request(other, { headers, users });
      },
    };
    const times = new Map(Object.keys(ways).map(name => [name, [] as number[]]));
    for (let round = 0; round < warmupRounds + rounds; round++) {
      const order = Object.entries(ways);
      for (const [name, prepare] of round % 2 === 0 ? order : order.toReversed()) {
        const run = await prepare();
        const start = performance.now();
        await run();
        if (round >= warmupRounds) times.get(name)?.push(performance.now() - start);
      }
    }
    print(on, times);
    await Promise.all(others.map(other => other.close()));
  } finally {
    await world.dispose();
  }
}

function print(on: string, times: ReadonlyMap<string, readonly number[]>): void {
  const first = times.get("raw");
  for (const [name, samples] of times) {
    const ratio = first === undefined ? "" : `, ${(median(samples) / median(first)).toFixed(2)} of raw`;
    console.log(`${on}: 100 ${name}: ${median(samples).toFixed(2)} ms${ratio}`);
  }
  if (first !== undefined) console.log(`bar: at most ${barRatioMax} of raw`);
}

async function fill({ platform, clock }: TestPlatform): Promise<void> {
  const { loyalty } = platform;
  await sideBySide(members, batchReadLanes, async member => {
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
async function keysOf(): Promise<readonly (readonly string[])[]> {
  const all = await raw.keys(`*${prefix}*:member:*`);
  return users.map(userId =>
    all.filter(
      key => key.includes(`:member:${userId}}`) && /(profile|loyalty|inbox|notifications)$/.test(key),
    ),
  );
}

async function readRaw(names: readonly (readonly string[])[]): Promise<unknown> {
  const pipeline = raw.pipeline();
  for (const keys of names) {
    for (const key of keys) {
      if (key.endsWith("notifications")) pipeline.lrange(key, -100, -1);
      else pipeline.get(key);
    }
  }
  return await pipeline.exec();
}
