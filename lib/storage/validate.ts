/**
 * The checks that every adapter makes before it touches anything, so that all of them refuse the same misuse.
 *
 * @module
 */
import { comparable, count, integer, name, text, unknown } from "./_assert.ts";
import type { Batch, Read, Traits, Write } from "./contract.ts";
import {
  checksMax,
  commitBytesMax,
  logLengthMax,
  partitionBytesMax,
  rangeLimitMax,
  readsMax,
  tallyFieldsMax,
  tieMax,
} from "./limits.ts";
import { utf8Length } from "./utf8.ts";

const cursorPattern = /^\d{1,16}-\d{1,20}$/;
const shapes: ReadonlySet<string> = new Set(["record", "tally", "board", "log"]);
const scoreOps: ReadonlySet<string> = new Set(["set", "min", "max", "add"]);

/**
 * Checks the arguments of `Store.read`.
 *
 * @throws {TypeError} An argument has the wrong type or an ill-formed string.
 * @throws {RangeError} An argument exceeds a limit of `limits.ts`.
 */
export function validateReads(partition: string, queries: readonly Read[]): void {
  text(partition, "partition", 1, partitionBytesMax);
  count(queries.length, "the number of queries", readsMax);
  for (const query of queries) validateRead(query);
}

/**
 * Checks the arguments of `Store.commit`.
 *
 * @throws {TypeError} An argument has the wrong type or an ill-formed string.
 * @throws {RangeError} An argument exceeds a limit of `limits.ts` or of the adapter's traits.
 */
export function validateBatch(partition: string, batch: Batch, traits: Traits): void {
  text(partition, "partition", 1, partitionBytesMax);
  const checks = batch.checks ?? [];
  count(checks.length, "the number of checks", checksMax);
  for (const check of checks) {
    name(check.key, "key");
    if ("absent" in check) name(check.absent, "field");
    else if (check.version !== null && typeof check.version !== "string") {
      throw new TypeError("Cannot use the storage: the version of a check must be a string or null");
    }
  }
  count(batch.writes.length, "the number of writes", traits.maxWrites);
  let bytes = 0;
  for (const write of batch.writes) bytes += validateWrite(write, traits);
  if (bytes > commitBytesMax) count(valueBytes(batch.writes), "the bytes of all values", commitBytesMax);
}

function valueBytes(writes: readonly Write[]): number {
  let bytes = 0;
  for (const write of writes) {
    if (write.type === "put" || write.type === "append") bytes += utf8Length(write.value) ?? 0;
  }
  return bytes;
}

function validateRead(query: Read): void {
  name(query.key, "key");
  switch (query.type) {
    case "record":
      return;
    case "tally":
      count(query.fields?.length ?? 0, "the number of fields", tallyFieldsMax);
      for (const field of query.fields ?? []) name(field, "field");
      return;
    case "board":
      integer(query.limit, "limit", 0, rangeLimitMax);
      if (query.offset !== undefined) integer(query.offset, "offset", 0);
      if (query.min !== undefined) comparable(query.min, "min");
      if (query.max !== undefined) comparable(query.max, "max");
      return;
    case "standing":
      name(query.member, "member");
      return;
    case "before":
      comparable(query.score, "score");
      if (query.tie !== undefined) integer(query.tie, "tie", 0, tieMax);
      if (query.member !== undefined) name(query.member, "member");
      return;
    case "log":
      integer(query.limit, "limit", 0, rangeLimitMax);
      if (query.from !== undefined) integer(query.from, "from");
      if (query.to !== undefined) integer(query.to, "to");
      if (query.cursor !== undefined && !cursorPattern.test(query.cursor)) {
        throw new TypeError("Cannot use the storage: cursor must be the id of a log entry");
      }
      return;
    default:
      unknown("read", query);
  }
}

/** Checks one write and returns a number that the UTF-8 bytes of its value do not exceed. */
function validateWrite(write: Write, traits: Traits): number {
  name(write.key, "key");
  switch (write.type) {
    case "put":
      if (write.expireAt !== undefined) integer(write.expireAt, "expireAt");
      return text(write.value, "value", 0, traits.maxValueBytes);
    case "delete":
      if (!shapes.has(write.shape)) unknown("shape", write);
      return 0;
    case "add":
      name(write.field, "field");
      integer(write.by, "by");
      if (write.min !== undefined) integer(write.min, "min");
      if (write.max !== undefined) integer(write.max, "max");
      return 0;
    case "score":
      if (!scoreOps.has(write.op)) unknown("score operation", write);
      name(write.member, "member");
      if (!Number.isFinite(write.score)) {
        throw new RangeError(`Cannot use the storage: score must be finite, is ${write.score}`);
      }
      if (write.tie !== undefined) integer(write.tie, "tie", 0, tieMax);
      if (write.asOf !== undefined) integer(write.asOf, "asOf", 0);
      return 0;
    case "unscore":
      name(write.member, "member");
      return 0;
    case "append":
      integer(write.at, "at", 0);
      integer(write.maxLength, "maxLength", 1, logLengthMax);
      return text(write.value, "value", 0, traits.maxValueBytes);
    default:
      return unknown("write", write);
  }
}
