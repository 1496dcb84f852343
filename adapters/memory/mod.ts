/**
 * The in-memory adapter: a {@linkcode Store} without a service, standards-only, optionally made durable by a journal.
 *
 * @module
 */
export { createMemoryBlobs } from "./blobs.ts";
export type { Journal } from "./frames.ts";
export { createMemoryLimiter } from "./limiter.ts";
export { createMemoryQueue } from "./queue.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./store.ts";
export { createStoreQueue } from "./store_queue.ts";
