/**
 * Storage, rate limits, queues and blobs on Redis 6.2 or later, standalone or Cluster, through ioredis.
 *
 * @module
 */
export { createRedisBlobs } from "./blobs.ts";
export * from "./bounds.ts";
export type { RedisClient } from "./client.ts";
export { defaultPrefix } from "./keys.ts";
export { createRedisLimiter } from "./limiter.ts";
export type { RedisAdapterOptions } from "./options.ts";
export { createRedisQueue, queueDepthMax, type RedisQueueOptions } from "./queue.ts";
export { createRedisStore } from "./store.ts";
