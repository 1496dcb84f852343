/**
 * Storage, rate limits, queues and blobs on PostgreSQL 14 or later, through node-postgres.
 *
 * @module
 */
export { createPostgresBlobs } from "./blobs.ts";
export { inspectPostgres, migratePostgres, type PostgresFacts } from "./inspect.ts";
export { createPostgresLimiter } from "./limiter.ts";
export type { MadeSchema, PostgresAdapterOptions } from "./options.ts";
export { createPostgresQueue, type PostgresQueueOptions } from "./queue.ts";
export { createPostgresStore } from "./store.ts";
