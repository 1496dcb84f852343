/** Runs one body of tests on several stores: in memory always, and on a real Redis where one can be started. */

import { randomUUID } from "node:crypto";
import { after, describe } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { skipUnlessFull } from "./full.ts";
import { redisAvailable, sharedCluster, sharedRedis } from "./redis.ts";

/** Opens a fresh, empty store whose clock is the given one. */
export type OpenStore = (clock: () => number) => Promise<Store>;

/** Opens one that lists its partitions as well. */
export type OpenListingStore = (clock: () => number) => Promise<Store & PartitionLister>;

type StoreSuite = (open: OpenListingStore, on: "memory" | "Redis") => void;

/** Declares the suite in memory, and in a full run on Redis too. */
export function describeOnStores(title: string, body: StoreSuite): void {
  declareInMemory(title, body);
  declareOnRedis(title, open => body(open, "Redis"), skipUnlessFull("on Redis") || redisAvailable());
}

/** Declares the suite in memory and on Redis in every run: for races, and for one suite of each area. */
export function describeOnEveryStore(title: string, body: StoreSuite): void {
  declareInMemory(title, body);
  declareOnRedis(title, open => body(open, "Redis"), redisAvailable());
}

/** Declares the suite on Redis Cluster in a full run: for what several partitions have a part in. */
export function describeOnCluster(title: string, body: (open: OpenListingStore) => void): void {
  declareOnRedis(title, body, skipUnlessFull("on Redis Cluster") || redisAvailable(), {
    on: "Redis Cluster",
    server: sharedCluster,
  });
}

function declareInMemory(title: string, body: StoreSuite): void {
  describe(`${title} (memory)`, () => {
    body(async clock => createMemoryStore({ clock }), "memory");
  });
}

interface Servers {
  readonly on: string;
  readonly server: () => Promise<{ readonly url: string }>;
}

function declareOnRedis(
  title: string,
  body: (open: OpenListingStore) => void,
  skip: string | false,
  { on, server }: Servers = { on: "Redis", server: sharedRedis },
): void {
  describe(`${title} (${on})`, { skip }, () => {
    const opened: AsyncDisposable[] = [];
    // A connection that stays open would keep the process from ending.
    after(async () => void (await Promise.all(opened.map(store => store[Symbol.asyncDispose]()))));
    body(async clock => {
      const { url } = await server();
      const store = createRedisStore({ server: url, prefix: `t:${randomUUID()}:`, clock });
      opened.push(store);
      return store;
    });
  });
}
