/** What operators ask stores, on every adapter that tells: their partitions, and what endangers their data. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { partitionsConformance, warningsConformance } from "../../adapters/conformance/mod.ts";
import { openFileStore } from "../../adapters/file/mod.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPostgresStore } from "../../adapters/postgres/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { freshSchema, PostgresProcess, postgresAvailable, sharedPostgres } from "../support/postgres.ts";
import { redisAvailable, sharedCluster, sharedRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { freshPrefix } from "./redis/fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-partitions-"));
after(() => rmSync(folder, { recursive: true }));
let folders = 0;

const listers: readonly [title: string, skip: string | false, () => Promise<Store & PartitionLister>][] = [
  ["memory", false, async () => createMemoryStore()],
  ["files", false, () => openFileStore(join(folder, String(folders++)), { fsync: "never" })],
  [
    "Redis",
    redisAvailable(),
    async () => createRedisStore({ server: (await sharedRedis()).url, prefix: freshPrefix() }),
  ],
  [
    "Redis Cluster",
    redisAvailable(),
    async () => createRedisStore({ server: (await sharedCluster()).url, prefix: freshPrefix() }),
  ],
  [
    "PostgreSQL",
    postgresAvailable(),
    async () => createPostgresStore({ server: (await sharedPostgres()).url, schema: freshSchema() }),
  ],
];

for (const [title, skip, open] of listers) {
  describe(`a store that lists its partitions (${title})`, { skip }, () => {
    partitionsConformance({
      describe,
      it,
      async factory() {
        const store = await open();
        return { store, dispose: async () => await store[Symbol.asyncDispose]() };
      },
    });
  });
}

describe("a store that warns (Redis)", { skip: redisAvailable() }, () => {
  warningsConformance({
    describe,
    it,
    async factory() {
      const server = await startRedis({ durable: true });
      const store = createRedisStore({ server: server.url });
      const set = (name: string, value: string) => async (): Promise<void> => {
        await server.command("CONFIG", "SET", name, value);
      };
      return {
        store,
        endanger: {
          keys_are_evicted: set("maxmemory-policy", "allkeys-lru"),
          not_persistent: set("appendonly", "no"),
        },
        async dispose() {
          await store[Symbol.asyncDispose]();
          await server.kill();
        },
      };
    },
  });
});

describe("a store that warns (PostgreSQL)", { skip: postgresAvailable() }, () => {
  warningsConformance({
    describe,
    it,
    async factory() {
      const server = await PostgresProcess.start();
      const store = createPostgresStore({ server: server.url, schema: freshSchema() });
      return {
        store,
        endanger: {
          async not_persistent() {
            await server.query("alter system set full_page_writes = off");
            await server.query("select pg_reload_conf()");
            await until("the setting holds", async () => {
              const [row] = await server.query("show full_page_writes");
              return row?.full_page_writes === "off";
            });
            await server.cut();
          },
        },
        async dispose() {
          await store[Symbol.asyncDispose]();
          await server.kill();
        },
      };
    },
  });
});
