/** Runs one body of tests on every limiter: in memory always, on a real Redis and a real PostgreSQL where they can be started. */

import { randomUUID } from "node:crypto";
import { describe } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createPostgresLimiter } from "../../adapters/postgres/mod.ts";
import { createRedisLimiter } from "../../adapters/redis/mod.ts";
import type { Limiter } from "../../lib/storage/mod.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "./postgres.ts";
import { redisAvailable, sharedRedis } from "./redis.ts";

/** Opens a fresh limiter whose clock is the given one. */
export type OpenLimiter = (clock: () => number) => Promise<Limiter>;

/** Opens a limiter in memory. */
export async function openMemoryLimiter(clock: () => number): Promise<Limiter> {
  return createMemoryLimiter({ clock });
}

/** Opens a limiter on the Redis of the tests. */
export async function openRedisLimiter(clock: () => number): Promise<Limiter> {
  const server = await sharedRedis();
  return createRedisLimiter({ server: server.url, prefix: `l:${randomUUID()}:`, clock });
}

/** Opens a limiter on the PostgreSQL of the tests. */
export async function openPostgresLimiter(clock: () => number): Promise<Limiter> {
  const server = await sharedPostgres();
  return createPostgresLimiter({ server: server.url, schema: freshSchema(), clock });
}

/** Declares the suite once per limiter. */
export function describeOnLimiters(title: string, body: (open: OpenLimiter) => void): void {
  describe(`${title} (memory)`, () => body(openMemoryLimiter));
  describe(`${title} (Redis)`, { skip: redisAvailable() }, () => body(openRedisLimiter));
  describe(`${title} (PostgreSQL)`, { skip: postgresAvailable() }, () => body(openPostgresLimiter));
}
