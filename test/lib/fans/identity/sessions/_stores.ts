/** Runs a suite in memory, over Redis by one client and by two, and over PostgreSQL by two. */

import { randomUUID } from "node:crypto";
import { describe } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { createPostgresStore } from "../../../../../adapters/postgres/mod.ts";
import { createRedisStore } from "../../../../../adapters/redis/mod.ts";
import { skipUnlessFull } from "../../../../support/full.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "../../../../support/postgres.ts";
import { redisAvailable, sharedRedis } from "../../../../support/redis.ts";
import { WatchedStore } from "../../../../support/watched_store.ts";
import type { OpenPair } from "./_world.ts";

/** Declares the suite once per kind of store. */
export function describeOnPairs(title: string, body: (open: OpenPair) => void): void {
  describe(`${title} (memory)`, () => {
    body(async clock => {
      const store = createMemoryStore({ clock });
      // A view of its own, so that decisions of the two do not queue up together.
      return [store, new WatchedStore(store)];
    });
  });
  for (const clients of [1, 2] as const) {
    describe(`${title} (Redis, clients: ${clients})`, { skip: redisAvailable() }, () => {
      body(async clock => {
        const server = await sharedRedis();
        const options = { server: server.url, prefix: `t:${randomUUID()}:`, clock };
        const first = createRedisStore(options);
        return [first, clients === 1 ? first : createRedisStore(options)];
      });
    });
  }
  const skip = skipUnlessFull("on PostgreSQL") || postgresAvailable();
  describe(`${title} (PostgreSQL, clients: 2)`, { skip }, () => {
    body(async clock => {
      const server = await sharedPostgres();
      const options = { server: server.url, schema: freshSchema(), clock };
      return [createPostgresStore(options), createPostgresStore(options)];
    });
  });
}
