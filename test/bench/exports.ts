/**
 * Exports of many users: how fast, in how much memory, and what other requests of the process notice of it.
 *
 * ```sh
 * npm run bench -- exports [users, by default 100000] [memory|Redis]
 * ```
 *
 * Every sample is a process of its own that exports all users of the store once, from the request to the completed job, after
 * a small export that warms it up. `plain` is the same pipeline without encryption into the same blob store. Meanwhile another
 * request of the process reads a user's profile every 10 ms; its latency counts from when it was due, and is compared with
 * the same requests in the quiet second before. Growth is that of the resident memory over the time right before the export. Gaps
 * are those of the event loop beyond 10 ms, as `perf_hooks` measures them.
 */

import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { createMemoryBlobs, createMemoryStore } from "../../adapters/memory/mod.ts";
import { nativeExportKernels } from "../../adapters/native/mod.ts";
import { createRedisBlobs, createRedisStore } from "../../adapters/redis/mod.ts";
import { spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { listingWrites, userIndexPartition } from "../../lib/fans/users/mod.ts";
import type { Batch, Store, Write } from "../../lib/storage/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";

const usersDefault = 100_000;
const warmUpUsers = 100;
const quietMs = 1_000;
const requestEveryMs = 10;
const loopResolutionMs = 10;
const listingBatch = 500;
const fillLanes = 256;
const fillAttemptsMax = 5;

/** Measures of one export. */
interface Sample {
  readonly seconds: number;
  /** Processor time of all threads. */
  readonly cpuSeconds: number;
  readonly users: number;
  readonly fileSize: number;
  readonly growthMb: number;
  readonly gapMsMax: number;
  readonly gapMsP99: number;
  readonly quietP99Ms: number;
  readonly busyP99Ms: number;
}

const organisationId = ids.organisation;

async function compare(on: string, users: string): Promise<void> {
  const server = on === "Redis" ? await startRedis() : null;
  try {
    const url = server?.url ?? "";
    if (server !== null) {
      const world = await openPlatform(redisStore(url));
      const began = performance.now();
      await fill(world, Number(users));
      console.log(`filled ${users} users in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
      await world.dispose();
    }
    const samples: Record<string, Sample[]> = { plain: [], encrypted: [] };
    for (const way of ["plain", "encrypted", "encrypted", "plain"]) {
      const taken = await sampleInFreshProcess<Sample>(import.meta.url, on, way, users, url);
      samples[way]?.push(taken);
      print(`${on} ${way}`, taken);
    }
    const best = (way: string): number => Math.min(...(samples[way] ?? []).map(({ seconds }) => seconds));
    const rate = best("plain") / best("encrypted");
    const encrypted = samples.encrypted ?? [];
    const most = (of: (one: Sample) => number): string => Math.max(...encrypted.map(of)).toFixed(1);
    const title = `export of ${users} users, ${on}`;
    figure(title, `${Math.round(Number(users) / best("encrypted")).toLocaleString("en")} users/s`);
    figure(`${title}: rate to plain`, rate.toFixed(2), "0.6");
    figure(`${title}: memory grew by`, `${most(one => one.growthMb)} MB`, "100 MB");
    figure(`${title}: longest gap of the event loop`, `${most(one => one.gapMsMax)} ms`, "20 ms");
    figure(
      `${title}: p99 of other requests`,
      `${most(one => one.busyP99Ms / one.quietP99Ms)} times the quiet one`,
      "2 times",
    );
  } finally {
    await server?.kill();
  }
}

function print(name: string, one: Sample): void {
  const rate = Math.round(one.users / one.seconds).toLocaleString("en");
  const ratio = (one.busyP99Ms / one.quietP99Ms).toFixed(1);
  console.log(
    `${name}: ${one.seconds.toFixed(2)} s (${one.cpuSeconds.toFixed(2)} s CPU), ${rate} users/s, file ${(one.fileSize / 1e6).toFixed(0)} MB, ` +
      `grew ${one.growthMb.toFixed(0)} MB, gap max ${one.gapMsMax.toFixed(0)} p99 ${one.gapMsP99.toFixed(0)} ms, ` +
      `request p99 ${one.busyP99Ms.toFixed(1)} ms, quiet ${one.quietP99Ms.toFixed(1)} ms (${ratio}x)`,
  );
}

function redisStore(url: string): (clock: () => number) => Promise<Store> {
  return async clock => createRedisStore({ server: url, prefix: "bench:", clock });
}

interface Run {
  readonly on: string;
  readonly way: string;
  readonly users: number;
  readonly url: string;
}

async function sample({ on, way, users, url }: Run): Promise<Sample> {
  const blobs = on === "Redis" ? createRedisBlobs({ server: url, prefix: "blobs:" }) : createMemoryBlobs();
  const open = on === "Redis" ? redisStore(url) : async (clock: () => number) => createMemoryStore({ clock });
  const world = await openPlatform(open, {
    blobs,
    exports: { kernels: nativeExportKernels(), intervalMs: 0 },
  });
  if (on !== "Redis") await fill(world, users);
  const encrypt = way === "encrypted";
  const filter = { userIds: Array.from({ length: warmUpUsers }, (_, n) => `user-${n}`) };
  await exported(world, { encrypt, filter });
  const probe = new Probe(world);
  await probe.run(quietMs);
  const quietP99Ms = probe.p99();
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: loopResolutionMs });
  delay.enable();
  let rssMax = before;
  const watch = setInterval(() => {
    rssMax = Math.max(rssMax, process.memoryUsage.rss());
  }, 20);
  const probing = probe.start();
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const { rowCount, fileSize } = await exported(world, { encrypt });
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  probe.stop();
  await probing;
  clearInterval(watch);
  delay.disable();
  await world.dispose();
  await blobs[Symbol.asyncDispose]();
  return {
    seconds,
    cpuSeconds: (user + system) / 1e6,
    users: rowCount,
    fileSize,
    growthMb: (rssMax - before) / 1_048_576,
    gapMsMax: delay.max / 1e6 - loopResolutionMs,
    gapMsP99: delay.percentile(99) / 1e6 - loopResolutionMs,
    quietP99Ms,
    busyP99Ms: probe.p99(),
  };
}

interface Exported {
  readonly rowCount: number;
  readonly fileSize: number;
}

async function exported(
  { platform }: TestPlatform,
  { encrypt, filter }: { readonly encrypt: boolean; readonly filter?: unknown },
): Promise<Exported> {
  const { exportId } = await platform.exports.request({
    organisationId,
    spaceId: ids.space,
    keyId: "gsk_bench",
    requestId: "bench",
    format: "json",
    encrypt,
    notify: null,
    filter,
    fields: ["userId", "displayName", "preferences", "customFields", "metrics.points", "createdAt"],
  });
  await platform.exports.idle();
  const found = await platform.exports.find({ organisationId, exportId });
  if (found?.job.result === null || found === null) throw new Error(JSON.stringify(found?.job.error));
  return found.job.result;
}

/** Another request of the process, again and again. */
class Probe {
  readonly #world: TestPlatform;
  #latencies: number[] = [];
  #isStopped = false;

  constructor(world: TestPlatform) {
    this.#world = world;
  }

  async run(ms: number): Promise<void> {
    const probing = this.start();
    await new Promise(resolve => setTimeout(resolve, ms));
    this.stop();
    await probing;
  }

  async start(): Promise<void> {
    const { key, secret } = await this.#world.platform.apiKeys.create({
      organisationId,
      name: "Probe",
      permissions: ["users:read"],
    });
    const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": organisationId };
    const path = "/v1/api/audience/internal/profiles?user_ids=user-7";
    this.#latencies = [];
    this.#isStopped = false;
    const running: Promise<void>[] = [];
    let due = performance.now();
    while (!this.#isStopped) {
      const from = due;
      running.push(
        this.#world.call(path, { headers }).then(({ status }) => {
          if (status !== 200) throw new Error(`The other request answered ${status}`);
          this.#latencies.push(performance.now() - from);
        }),
      );
      due += requestEveryMs;
      const wait = due - performance.now();
      if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait));
    }
    await Promise.all(running);
  }

  stop(): void {
    this.#isStopped = true;
  }

  p99(): number {
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  }
}

/** Gives the organisation users, each with the records of a real one. */
async function fill(world: TestPlatform, users: number): Promise<void> {
  const { store, clock, platform } = world;
  const template = { organisationId, spaceId: ids.space, projectId: ids.project, userId: "user-7" };
  for (let n = 0; n < 5; n++) {
    const action = { action: "prediction", data: { outcome: "exact" }, isClientReport: false };
    await platform.loyalty.report(template, action);
  }
  await platform.idle();
  const [loyalty] = await store.read(spaceUserPartition(template), [{ type: "record", key: "loyalty" }]);
  if (loyalty === null) throw new Error("The template has no record");
  async function lane(first: number): Promise<void> {
    for (let n = first; n < users; n += fillLanes) {
      const profile = {
        displayName: `Fan number ${n}`,
        preferences: { language: "en", sounds: { goal: n % 2 === 0 } },
        customFields: { shirt: "M", goals: n },
        createdAt: clock.now(),
        updatedAt: clock.now(),
        version: 1,
      };
      await surely(store, spaceUserPartition({ ...template, userId: `user-${n}` }), {
        writes: [
          { type: "put", key: "loyalty", value: loyalty?.value ?? "" },
          { type: "put", key: "profile", value: JSON.stringify(profile) },
        ],
      });
    }
  }
  await Promise.all(Array.from({ length: fillLanes }, (_, first) => lane(first)));
  const byShard = new Map<string, Write[]>();
  for (let n = 0; n < users; n++) {
    const userId = `user-${n}`;
    const place = userIndexPartition(organisationId, userId);
    const writes = byShard.get(place) ?? [];
    if (writes.length === 0) byShard.set(place, writes);
    writes.push(...listingWrites(userId, clock.now() - users + n));
  }
  for (const [place, writes] of byShard) {
    for (let from = 0; from < writes.length; from += listingBatch) {
      await surely(store, place, { writes: writes.slice(from, from + listingBatch) });
    }
  }
}

/** A busy machine may keep an answer for longer than the store waits; these writes may be repeated. */
async function surely(store: Store, partition: string, batch: Batch): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.commit(partition, batch);
      return;
    } catch (error) {
      if (attempt === fillAttemptsMax) throw error;
    }
  }
}

if (process.argv[2] === "--sample") {
  const [, , , on = "", way = "", users = "", url = ""] = process.argv;
  console.log(JSON.stringify(await sample({ on, way, users: Number(users), url })));
} else {
  const [, , users = String(usersDefault), only] = process.argv;
  for (const on of ["memory", "Redis"]) if (only === undefined || only === on) await compare(on, users);
}
