/**
 * Storage: the contract that adapters implement, and what areas use to read, decide and name.
 *
 * @module
 */
export { Batches, type BatchesOptions, whenAll } from "./batches.ts";
export { BoundedCache } from "./bounded_cache.ts";
export * from "./contract.ts";
export { busyPartitions, decide, decisionsWaitingMax } from "./decide.ts";
export { JsonMembers as StoredMembers } from "./json_members.ts";
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
export { flattenString as inOnePiece } from "./one_piece.ts";
export { Parsed } from "./parsed.ts";
export * from "./ports.ts";
export { RecordCache as Remembered, type RecordCacheOptions } from "./remembered.ts";
export type { Committed, Decision, Rule } from "./rule.ts";
export { shardOf } from "./shard.ts";
export { mapConcurrent as sideBySide } from "./side_by_side.ts";
export { onceMark as unseen } from "./unseen.ts";
export { compareUtf8, utf8Length } from "./utf8.ts";
export { validateBatch, validateReads } from "./validate.ts";
export {
  validateAck,
  validateBlobName,
  validateBlobRange,
  validateLease,
  validatePush,
  validateTake,
} from "./validate_ports.ts";
