/**
 * Machinery of background work and of memory: one cache, one batcher, one lease, one due queue for all areas.
 *
 * @module
 */
export { Batcher, type BatcherOptions } from "./batcher.ts";
export { Cache, type CacheOptions, chain, type Loaded, memoize, ParsedRecords } from "./cache.ts";
export { Delivery } from "./delivery.ts";
export { DueQueue, type DueQueueOptions, type DueResult, type DueWork } from "./due_queue.ts";
export {
  claimLease,
  isSameLease,
  Lease,
  type LeaseClaim,
  LeaseLost,
  type LeaseOptions,
  type LeaseState,
  parseLease,
} from "./lease.ts";
export { mapConcurrent } from "./map_concurrent.ts";
export { createPause } from "./pause.ts";
