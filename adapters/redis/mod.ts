/**
 * Storage, rate limits, queues and blobs on Redis 6.2 or later, standalone or Cluster, through ioredis.
 *
 * @module
 */
export { createRedisBlobs } from "./blobs.ts";
export { inspectRedis, type RedisFacts } from "./inspect.ts";
export type { RedisAdapterOptions, RedisClient } from "./keys.ts";
export { createRedisLimiter } from "./limiter.ts";
export { createRedisQueue, type RedisQueueOptions } from "./queue.ts";
export { createRedisStore } from "./store.ts";
