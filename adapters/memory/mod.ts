/**
 * The in-memory adapter: a {@linkcode Store} without a service, standards-only, optionally made durable by a journal.
 *
 * @module
 */
export { createMemoryBlobs } from "./blobs.ts";
export type { Journal, JournalClient, Settle } from "./journal.ts";
export { createMemoryLimiter, limiterSubjectsMax, type MemoryLimiterOptions } from "./limiter.ts";
export { createMemoryQueue, type MemoryQueueOptions, queueDepthMax } from "./queue.ts";
export { createMemoryStore, listedPartitionsMax, type MemoryStoreOptions } from "./store.ts";
export { createStoreQueue, type StoreQueueOptions } from "./store_queue.ts";
