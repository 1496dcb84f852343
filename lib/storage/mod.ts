/**
 * Storage: the contract that adapters implement, and the functions with which areas decide, cache and name.
 *
 * @module
 */
export { Batches, type BatchesOptions, whenAll } from "./batches.ts";
export { BoundedCache } from "./bounded_cache.ts";
export * from "./contract.ts";
export { busyPartitions, decide } from "./decide.ts";
export * from "./limits.ts";
export {
  keyName,
  type PartitionParts,
  partitionParts,
  platformPartition,
  type Tenant,
  tenantPartition,
  tenantPrefixes,
} from "./names.ts";
export { onceMark } from "./once_mark.ts";
export { Parsed } from "./parsed.ts";
export * from "./ports.ts";
export { RecordCache } from "./record_cache.ts";
export type { Committed, Decision, Rule } from "./rule.ts";
export {
  validateAck,
  validateBatch,
  validateBlobName,
  validateBlobRange,
  validateLease,
  validatePush,
  validateReads,
  validateTake,
} from "./validate.ts";
