/**
 * The in-memory adapter: a {@linkcode Store} without a service, standards-only, optionally made durable by a journal.
 *
 * @module
 */
export type { Journal, JournalClient, Settle } from "./journal.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./store.ts";
