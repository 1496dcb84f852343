/**
 * Storage: the contract that adapters implement, and the functions with which areas decide, cache and name.
 *
 * @module
 */
export { AppError } from "../base/errors/mod.ts";
export {
  compareBoardEntries,
  isEntryAfter,
  readMany,
  readPageAfter,
  type WalkDirection,
} from "./board_pages.ts";
export type {
  Add,
  Append,
  Batch,
  BoardEntry,
  BoardRange,
  BoardWindow,
  Check,
  Commit,
  Delete,
  LogEntry,
  Partition,
  Put,
  Read,
  ReadAround,
  ReadBefore,
  ReadBoard,
  ReadLog,
  ReadRecord,
  ReadStanding,
  ReadTally,
  Result,
  Results,
  Score,
  Standing,
  Store,
  Stored,
  StoreWarning,
  Traits,
  Unscore,
  Version,
  Write,
} from "./contract.ts";
export { storageLimits, storageTimes } from "./contract.ts";
export { decide } from "./decide.ts";
export type { Decision, Rule } from "./decision_batch.ts";
export {
  keyName,
  type PartitionParts,
  platformPartition,
  tenantPartition,
  tenantPartitions,
} from "./names.ts";
export type {
  Blobs,
  Limiter,
  LimitRule,
  LimitVerdict,
  OwnStorage,
  PartitionLister,
  Queue,
  QueueMessage,
} from "./ports.ts";
export { BoundedCache, onceMark, RecordCache } from "./record_cache.ts";
export { ServerClock, type TimedServer } from "./server_clock.ts";
export type { RecordedPerson, UserRecord, UserRecordKind, UserRecords } from "./user_records.ts";
export { validateBatch, validateReads } from "./validate.ts";
