import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { createJsonLogger } from "../../lib/http/mod.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { openPlatform, type TestPlatform } from "../support/platform.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { until } from "../support/until.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { assertProblem } from "./_problem.ts";

describe("readiness", () => {
  it("ends when the server is about to stop, while requests are answered", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    assert.deepEqual((await world.call("/readyz")).json, { status: "ok" });
    world.platform.drain();
    assertProblem(await world.call("/readyz"), 503, "busy");
    assert.equal((await world.call("/healthz")).status, 200);
    assert.equal((await world.call("/api/loyalty/config")).status, 200);
  });

  it("costs the store one write a second, however many ask", async t => {
    let store: WatchedStore | undefined;
    const world = await openPlatform(async clock => {
      store = new WatchedStore(createMemoryStore({ clock }));
      return store;
    });
    t.after(() => world.dispose());
    const written = (): number => store?.commits.length ?? 0;
    const before = written();
    await Promise.all(Array.from({ length: 20 }, () => world.call("/readyz")));
    await world.call("/readyz");
    assert.equal(written() - before, 1);
    world.clock.advance(1_000);
    await world.call("/readyz");
    assert.equal(written() - before, 2);
  });
});

describeOnEveryStore("readiness on a store that loses its data", openStore => {
  it("ends until the data is back, and the log says so once", async t => {
    const lines: string[] = [];
    let store: Store | undefined;
    const world = await openPlatform(
      async clock => {
        store = await openStore(clock);
        return store;
      },
      { logger: createJsonLogger({ write: line => lines.push(line) }) },
    );
    t.after(() => world.dispose());
    assert.ok(store !== undefined);
    const keys = platformPartition("key_ring");
    const [issuer] = await store.read(keys, [{ type: "record", key: "issuer" }]);
    assert.ok(issuer !== null);
    const replaced = (): number => lines.filter(line => line.includes('"event":"store_replaced"')).length;

    await world.platform.work();
    assert.equal((await world.call("/readyz")).status, 200);
    assert.equal(replaced(), 0);
    await store.commit(keys, { writes: [{ type: "delete", shape: "record", key: "issuer" }] });
    await world.platform.work();
    assert.equal(replaced(), 1);
    await assertUnready(world);
    assert.equal((await world.call("/healthz")).status, 200);
    await store.commit(keys, { writes: [{ type: "put", key: "issuer", value: "urn:uuid:another" }] });
    await assertUnready(world);
    assert.equal(replaced(), 1);

    await store.commit(keys, { writes: [{ type: "put", key: "issuer", value: issuer.value }] });
    world.clock.advance(1_000);
    assert.equal((await world.call("/readyz")).status, 200);
    await store.commit(keys, { writes: [{ type: "delete", shape: "record", key: "issuer" }] });
    await assertUnready(world);
    assert.equal(replaced(), 2);
  });
});

describe("readiness of a platform whose actions wait for workers", () => {
  it("warns, once in the log, while no worker has been there for a minute", async t => {
    const lines: string[] = [];
    const queue = createMemoryQueue({ clock: Date.now });
    t.after(() => queue[Symbol.asyncDispose]());
    const logger = createJsonLogger({ write: line => lines.push(line) });
    const world = await openPlatform(async clock => createMemoryStore({ clock }), { queue, logger });
    t.after(() => world.dispose());
    const logged = (): number => lines.filter(line => line.includes('"event":"no_worker"')).length;
    const codesAfter = async (ms: number): Promise<unknown> => {
      world.clock.advance(ms);
      const { status, json } = await world.call("/readyz");
      assert.equal(status, 200);
      return json.warnings?.map(({ code }: { code: string }) => code);
    };
    assert.equal(await codesAfter(0), undefined);
    assert.deepEqual(await codesAfter(60_000), ["no_worker"]);
    assert.deepEqual(await codesAfter(60_000), ["no_worker"]);
    assert.equal(logged(), 1);
    world.clock.advance(60_000);
    const worker = world.platform.startActionWorker();
    t.after(() => worker.stop());
    await until("the worker has its shards", async () => worker.shards.length > 0);
    assert.equal(await codesAfter(0), undefined);
    await worker.stop();
    assert.equal(await codesAfter(59_999), undefined);
    assert.deepEqual(await codesAfter(60_000), ["no_worker"]);
    assert.equal(logged(), 2);
  });

  it("warns of workers that the queue refuses, until it takes them again", async t => {
    const queue = createMemoryQueue({ clock: Date.now });
    t.after(() => queue[Symbol.asyncDispose]());
    let isReadOnly = true;
    const take = queue.take.bind(queue);
    queue.take = async (topic, lease) => {
      if (isReadOnly) throw new AppError("storage_unavailable", "Cannot use Redis: ERR READONLY");
      return await take(topic, lease);
    };
    const world = await openPlatform(async clock => createMemoryStore({ clock }), {
      queue,
      // The pauses of the worker pass at once.
      timer: callback => systemTimer(callback, 0),
    });
    t.after(() => world.dispose());
    // No lease ends meanwhile: the worker counts as alive throughout.
    const worker = world.platform.startActionWorker({ leaseMs: 31_536_000_000 });
    t.after(() => worker.stop());
    await until("the worker has its shards", () => worker.shards.length > 0);
    const warns = async (): Promise<boolean> => {
      world.clock.advance(60_000);
      const { json } = await world.call("/readyz");
      return (json.warnings ?? []).some(({ code }: { code: string }) => code === "no_worker");
    };
    await until("the worker is missed", warns);
    isReadOnly = false;
    await until("the worker is back", async () => !(await warns()));
  });
});

describe("readiness on Redis", { skip: redisAvailable() }, () => {
  it("needs a store that takes writes, and warns of one that may lose data", async t => {
    const server = await startRedis();
    t.after(() => server.kill());
    const lines: string[] = [];
    const open = async (clock: () => number): Promise<Store> =>
      createRedisStore({ server: server.url, clock });
    const logger = createJsonLogger({ write: line => lines.push(line) });
    const world = await openPlatform(open, { logger });
    t.after(() => world.dispose());
    const codes = async (): Promise<readonly string[]> => {
      world.clock.advance(60_000);
      const { status, json } = await world.call("/readyz");
      assert.equal(status, 200);
      return (json.warnings ?? []).map(({ code }: { code: string }) => code);
    };
    await world.platform.work();
    assert.deepEqual(warningsIn(lines), ["not_persistent"]);
    assert.deepEqual(await codes(), ["not_persistent"]);
    await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    assert.deepEqual(await codes(), ["keys_are_evicted", "not_persistent"]);
    assert.deepEqual(await codes(), ["keys_are_evicted", "not_persistent"]);
    assert.deepEqual(warningsIn(lines), ["not_persistent", "keys_are_evicted"]);
    await server.command("CONFIG", "SET", "appendonly", "yes");
    await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    assert.deepEqual(await codes(), []);

    await server.command("CONFIG", "SET", "maxmemory", "1");
    await assertUnready(world);
    await server.command("CONFIG", "SET", "maxmemory", "0");
    assert.deepEqual(await codes(), []);
    await server.command("REPLICAOF", "127.0.0.1", "1");
    await assertUnready(world);
  });
});

async function assertUnready(world: TestPlatform): Promise<void> {
  world.clock.advance(1_000);
  assertProblem(await world.call("/readyz"), 503, "storage_unavailable");
}

function warningsIn(lines: readonly string[]): readonly string[] {
  return lines
    .map(line => JSON.parse(line))
    .flatMap(({ event, code }) => (event === "store_warning" ? [code] : []));
}
