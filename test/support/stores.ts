/** Runs one body of tests on several stores: in memory always, and on a real Redis where one can be started. */

import { randomUUID } from "node:crypto";
import { after, describe } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { isFullRun } from "./full.ts";
import { redisAvailable, sharedRedis } from "./redis.ts";

/** Opens a fresh, empty store whose clock is the given one. */
export type OpenStore = (clock: () => number) => Promise<Store>;

/** Opens one that lists its partitions as well. */
export type OpenListingStore = (clock: () => number) => Promise<Store & PartitionLister>;

type StoreSuite = (open: OpenListingStore, on: "memory" | "Redis") => void;

/** Declares the suite in memory, and in a full run on Redis too. */
export function describeOnStores(title: string, body: StoreSuite): void {
  declare(title, body, isFullRun ? redisAvailable() : "on Redis in a full run: npm test -- --full");
}

/** Declares the suite in memory and on Redis in every run: for races, and for one suite of each area. */
export function describeOnEveryStore(title: string, body: StoreSuite): void {
  declare(title, body, redisAvailable());
}

function declare(title: string, body: StoreSuite, skipRedis: string | false): void {
  describe(`${title} (memory)`, () => {
    body(async clock => createMemoryStore({ clock }), "memory");
  });
  describe(`${title} (Redis)`, { skip: skipRedis }, () => {
    const opened: AsyncDisposable[] = [];
    // A connection that stays open would keep the process from ending.
    after(async () => void (await Promise.all(opened.map(store => store[Symbol.asyncDispose]()))));
    body(async clock => {
      const server = await sharedRedis();
      const store = createRedisStore({ server: server.url, prefix: `t:${randomUUID()}:`, clock });
      opened.push(store);
      return store;
    }, "Redis");
  });
}
