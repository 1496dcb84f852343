/** Runs one body of tests on every store: in memory always, on a real Redis where one can be started. */

import { randomUUID } from "node:crypto";
import { describe } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { redisAvailable, sharedRedis } from "./redis.ts";

/** Opens a fresh, empty store whose clock is the given one. */
export type OpenStore = (clock: () => number) => Promise<Store>;

/** Opens one that lists its partitions as well. */
export type OpenListingStore = (clock: () => number) => Promise<Store & PartitionLister>;

/** Declares the suite once per store. */
export function describeOnStores(
  title: string,
  body: (open: OpenListingStore, on: "memory" | "Redis") => void,
): void {
  describe(`${title} (memory)`, () => {
    body(async clock => createMemoryStore({ clock }), "memory");
  });
  describe(`${title} (Redis)`, { skip: redisAvailable() }, () => {
    body(async clock => {
      const server = await sharedRedis();
      return createRedisStore({ server: server.url, prefix: `t:${randomUUID()}:`, clock });
    }, "Redis");
  });
}
