/**
 * The cost of large writes of the control API on Redis: a clone of an event with 1,000 elements of 2 KB, and 500 operations in one
 * request. Time from request to answer, in process, and the round trips of the store: calls that are made at once count as one.
 *
 * ```sh
 * npm run bench -- control_writes [rounds]
 * ```
 */

import { performance } from "node:perf_hooks";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { operatorHeaders, resource, to } from "../http/_control_examples.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { median } from "./harness.ts";

const rounds = Number(process.argv[2] ?? 9);
const clonedElements = 1_000;
const operationsMax = 500;
const text = "x".repeat(1_900);

interface Trips {
  count: number;
}

/** Counts the round trips of a store. */
function counted(store: Store): { readonly store: Store; readonly trips: Trips } {
  const trips: Trips = { count: 0 };
  let waiting = 0;
  async function run<T>(call: () => Promise<T>): Promise<T> {
    if (waiting++ === 0) trips.count++;
    try {
      return await call();
    } finally {
      waiting--;
    }
  }
  const { read, commit } = store;
  store.read = ((partition, queries) => run(() => read.call(store, partition, queries))) as typeof read;
  store.commit = (partition, batch) => run(() => commit.call(store, partition, batch));
  return { store, trips };
}

const redis = await startRedis();
const { store, trips } = counted(createRedisStore({ server: redis.url, clock: Date.now }));
const world = await openPlatform(async () => store, { clock: Date.now, rateLimits: "off" });
try {
  const headers = await operatorHeaders(world);
  async function create(path: string, body: unknown): Promise<string> {
    const answer = await world.call(`/api/v2${path}`, { body, headers });
    if (answer.status >= 300) throw new Error(answer.text.slice(0, 500));
    return answer.json.data?.id;
  }
  const show = resource(
    "events",
    { name: "Show" },
    { relationships: { project: to("projects", ids.project) } },
  );
  const operationsFor = (eventId: string) => ({
    "atomic:operations": Array.from({ length: operationsMax }, (_, n) => ({
      op: "add",
      data: {
        type: "elements",
        attributes: {
          content_type: "poll",
          name: `Poll ${n}`,
          custom_fields: [{ key: "text", values: { all: text } }],
        },
        relationships: { event: to("events", eventId) },
      },
    })),
  });
  async function measure(
    run: () => Promise<unknown>,
  ): Promise<{ readonly ms: number; readonly count: number }> {
    const before = trips.count;
    const start = performance.now();
    await run();
    return { ms: performance.now() - start, count: trips.count - before };
  }
  const source = await create("/events", show);
  for (let made = 0; made < clonedElements; made += operationsMax)
    await create("/operations", operationsFor(source));
  const clones = [];
  const operations = [];
  for (let round = 0; round < rounds; round++) {
    clones.push(await measure(() => create(`/events/${source}/clone`, resource("events", { name: "Copy" }))));
    const target = await create("/events", show);
    operations.push(await measure(() => create("/operations", operationsFor(target))));
  }
  for (const [name, samples, msMax, tripsMax] of [
    ["clone of 1,000 elements of 2 KB on Redis", clones, 500, 12],
    ["500 operations in one request on Redis", operations, 300, 5],
  ] as const) {
    const ms = median(samples.map(sample => sample.ms)).toFixed(0);
    const counts = samples.map(({ count }) => count);
    const usual = `${median(counts)} round trips (${Math.max(...counts)} where caches had expired)`;
    console.log(
      `${name}: ${samples.map(sample => `${sample.ms.toFixed(0)} ms, ${sample.count} trips`).join("; ")}`,
    );
    figure(name, `${ms} ms, ${usual}`, `${msMax} ms, ${tripsMax}`);
  }
} finally {
  await world.dispose();
  await redis.kill();
}
