/** Listing partitions, on every adapter that can. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { listedPartitionsMax } from "../../adapters/memory/store.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import type { PartitionQuery } from "../../lib/storage/ports.ts";
import { redisAvailable, sharedCluster, sharedRedis } from "../support/redis.ts";
import { freshPrefix } from "./redis/fixture.ts";

type Listing = Store & PartitionLister;

const strange = ["a*b", "a?b", "[ab]", "a\\b", "{x}", "%7Bx%7D", "%25", "é😀", "}r", "", " "];

async function listed(store: Listing, query: PartitionQuery): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const group of store.partitions(query)) found.push(...group);
  return [...new Set(found)].sort();
}

function listsPartitions(title: string, skip: string | false, open: () => Promise<Listing>): void {
  describe(`the partitions of a store (${title})`, { skip }, () => {
    it("are those that begin so and hold the record, whatever their names", async () => {
      await using store = await open();
      const expected = strange.map(id => `p:1:user:${id}`).sort();
      const writes = [
        { type: "put", key: "user", value: "1" },
        { type: "put", key: "name", value: "1" },
      ] as const;
      for (const partition of expected) await store.commit(partition, { writes });
      await store.commit("p:2:user:b", { writes });
      await store.commit("p:1:user:named", { writes: writes.slice(1) });
      await store.commit("p:1:user:tallied", { writes: [{ type: "add", key: "user", field: "f", by: 1 }] });
      assert.deepEqual(await listed(store, { prefix: "p:1:user:", record: "user" }), expected);
      assert.deepEqual(await listed(store, { prefix: "p:1:user:a*", record: "user" }), ["p:1:user:a*b"]);
      assert.deepEqual(await listed(store, { prefix: "p:1:user:{", record: "user" }), ["p:1:user:{x}"]);
      assert.deepEqual(await listed(store, { prefix: "p:1:", record: "use" }), []);
      assert.deepEqual(await listed(store, { prefix: "p:", record: "user" }), [...expected, "p:2:user:b"]);
      await store.commit("p:2:user:b", { writes: [{ type: "delete", shape: "record", key: "user" }] });
      assert.deepEqual(await listed(store, { prefix: "p:2:", record: "user" }), []);
    });

    it("are all there in groups, while others come", async () => {
      await using store = await open();
      const count = 2 * listedPartitionsMax + 1;
      const put = { type: "put", key: "user", value: "1" } as const;
      const names = Array.from({ length: count }, (_, n) => `p:1:user:${String(n).padStart(6, "0")}`);
      for (let from = 0; from < count; from += 100) {
        const some = names.slice(from, from + 100);
        await Promise.all(some.map(name => store.commit(name, { writes: [put] })));
      }
      const found = new Set<string>();
      let groups = 0;
      for await (const group of store.partitions({ prefix: "p:1:user:", record: "user" })) {
        groups += 1;
        for (const name of group) found.add(name);
        await store.commit(`p:1:later:${groups}`, { writes: [put] });
      }
      assert.deepEqual([...found].sort(), names);
      assert.ok(groups > 2, `${groups} groups`);
    });
  });
}

listsPartitions("memory", false, async () => createMemoryStore());
listsPartitions("files", false, async () => {
  const folder = mkdtempSync(join(tmpdir(), "grandstand-partitions-"));
  const store = await openFileStore(folder, { fsync: "never" });
  const close = store[Symbol.asyncDispose].bind(store);
  store[Symbol.asyncDispose] = async () => {
    await close();
    rmSync(folder, { recursive: true });
  };
  return store;
});
listsPartitions("Redis", redisAvailable(), async () =>
  createRedisStore({ server: (await sharedRedis()).url, prefix: freshPrefix() }),
);
listsPartitions("Redis Cluster", redisAvailable(), async () =>
  createRedisStore({ server: (await sharedCluster()).url, prefix: freshPrefix() }),
);
