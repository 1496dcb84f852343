/** Runs one body of tests on every limiter: in memory always, on a real Redis where one can be started. */

import { randomUUID } from "node:crypto";
import { describe } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createRedisLimiter } from "../../adapters/redis/mod.ts";
import type { Limiter } from "../../lib/storage/mod.ts";
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

/** Declares the suite once per limiter. */
export function describeOnLimiters(title: string, body: (open: OpenLimiter) => void): void {
  describe(`${title} (memory)`, () => body(openMemoryLimiter));
  describe(`${title} (Redis)`, { skip: redisAvailable() }, () => body(openRedisLimiter));
}
