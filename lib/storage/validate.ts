/**
 * Checks of the arguments of stores and side ports. Every adapter runs them before any effect, so that all of them refuse
 * the same misuse.
 */

import { bytesPerUnitMax, utf8Length } from "../base/text/mod.ts";
import type { Batch, Read, Traits, Write } from "./contract.ts";
import { storageLimits } from "./contract.ts";
import type { BlobRange, LimitRule, QueueLease } from "./ports.ts";

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
  text(partition, "partition", 1, storageLimits.partitionBytesMax);
  count(queries.length, "the number of queries", storageLimits.readsMax);
  for (const query of queries) validateRead(query);
}

/**
 * Checks the arguments of `Store.commit`.
 *
 * @throws {TypeError} An argument has the wrong type or an ill-formed string.
 * @throws {RangeError} An argument exceeds a limit of `limits.ts` or of the adapter's traits.
 */
export function validateBatch(partition: string, batch: Batch, traits: Traits): void {
  text(partition, "partition", 1, storageLimits.partitionBytesMax);
  const checks = batch.checks ?? [];
  count(checks.length, "the number of checks", storageLimits.checksMax);
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
  if (bytes > storageLimits.commitBytesMax)
    count(valueBytes(batch.writes), "the bytes of all values", storageLimits.commitBytesMax);
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
      count(query.fields?.length ?? 0, "the number of fields", storageLimits.tallyFieldsMax);
      for (const field of query.fields ?? []) name(field, "field");
      return;
    case "board":
      integer(query.limit, "limit", 0, storageLimits.rangeLimitMax);
      if (query.offset !== undefined) integer(query.offset, "offset", 0);
      if (query.min !== undefined) comparable(query.min, "min");
      if (query.max !== undefined) comparable(query.max, "max");
      return;
    case "around":
      name(query.member, "member");
      integer(query.limit, "limit", 1, storageLimits.rangeLimitMax);
      return;
    case "standing":
      name(query.member, "member");
      return;
    case "before":
      comparable(query.score, "score");
      if (query.tie !== undefined) integer(query.tie, "tie", 0, storageLimits.tieMax);
      if (query.member !== undefined) name(query.member, "member");
      return;
    case "log":
      integer(query.limit, "limit", 0, storageLimits.rangeLimitMax);
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
      if (write.tie !== undefined) integer(write.tie, "tie", 0, storageLimits.tieMax);
      if (write.asOf !== undefined) integer(write.asOf, "asOf", 0);
      return 0;
    case "unscore":
      name(write.member, "member");
      return 0;
    case "append":
      integer(write.at, "at", 0);
      integer(write.maxLength, "maxLength", 1, storageLimits.logLengthMax);
      return text(write.value, "value", 0, traits.maxValueBytes);
    default:
      return unknown("write", write);
  }
}

const blobSegment = /^[A-Za-z0-9._-]+$/;

/**
 * Checks the arguments of `Limiter.take` and `Limiter.reset`.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit, or the cost exceeds a rule's, so that it could never be
 *   spent.
 */
export function validateTake(subject: string, rules: readonly LimitRule[], cost: number = 1): void {
  name(subject, "subject");
  count(rules.length, "the number of rules", storageLimits.limitRulesMax);
  integer(cost, "cost", 1);
  for (const rule of rules) {
    name(rule.name, "the name of a rule");
    integer(rule.limit, "the limit of a rule", 1);
    integer(rule.windowMs, "the window of a rule", 1);
    integer(cost, "the cost under a rule", 1, rule.limit);
  }
}

/**
 * Checks the arguments of `Queue.push`.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit or is ill-formed.
 */
export function validatePush(topic: string, bodies: readonly string[]): void {
  name(topic, "topic");
  count(bodies.length, "the number of messages", storageLimits.queueBatchMax);
  for (const body of bodies) text(body, "body", 0, storageLimits.valueBytesMax);
}

/**
 * Checks the arguments of `Queue.take`.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit or is ill-formed.
 */
export function validateLease(topic: string, lease: QueueLease): void {
  name(topic, "topic");
  name(lease.consumer, "consumer");
  integer(lease.limit, "limit", 1, storageLimits.queueBatchMax);
  integer(lease.leaseMs, "leaseMs", 1, storageLimits.leaseMsMax);
}

/**
 * Checks the arguments of `Queue.ack`; what no message is called is no misuse.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit or is ill-formed.
 */
export function validateAck(topic: string, ids: readonly string[]): void {
  name(topic, "topic");
  count(ids.length, "the number of ids", storageLimits.queueBatchMax);
  for (const id of ids) name(id, "id");
}

/**
 * Checks the name of a blob: 1 to {@linkcode storageLimits.blobNameCharactersMax} of `[A-Za-z0-9._/-]`, without empty or dot segments.
 *
 * @throws {TypeError | RangeError} It is none, so that no name can leave the place where blobs are kept.
 */
export function validateBlobName(value: string): void {
  text(value, "the name of a blob", 1, storageLimits.blobNameCharactersMax);
  for (const segment of value.split("/")) {
    if (!blobSegment.test(segment) || segment === "." || segment === "..") {
      throw new RangeError(`Cannot use the storage: ${JSON.stringify(value)} is no name of a blob`);
    }
  }
}

/**
 * Checks the range of `Blobs.get`.
 *
 * @throws {RangeError} A bound is no integer from 0.
 */
export function validateBlobRange(range: BlobRange): void {
  if (range.start !== undefined) integer(range.start, "start", 0);
  if (range.end !== undefined) integer(range.end, "end", 0);
}

/** Checks the name of something stored: a key, field, member or topic. */
function name(value: string, what: string): void {
  text(value, what, 1, storageLimits.nameBytesMax);
}

/** Checks a string and returns a number that its UTF-8 bytes do not exceed: theirs, or a bound that is cheaper to know. */
function text(value: string, what: string, min: number, max: number): number {
  if (typeof value !== "string") {
    throw new TypeError(`Cannot use the storage: ${what} must be a string, is ${typeof value}`);
  }
  const bound = value.length * bytesPerUnitMax;
  if (value.length >= min && bound <= max && value.isWellFormed()) return bound;
  // A UTF-16 unit is at least one byte: the exact count of an enormous string is never needed to refuse it.
  const bytes = value.length > max ? value.length : utf8Length(value);
  if (bytes === undefined) throw new TypeError(`Cannot use the storage: ${what} has a lone surrogate`);
  if (bytes < min || bytes > max) {
    throw new RangeError(`Cannot use the storage: ${what} must have ${min} to ${max} bytes, has ${bytes}`);
  }
  return bytes;
}

function count(value: number, what: string, max: number): void {
  if (value > max)
    throw new RangeError(`Cannot use the storage: ${what} must be at most ${max}, is ${value}`);
}

/** Checks that a number is a safe integer from `min` to `max`. */
function integer(
  value: number,
  what: string,
  min: number = Number.MIN_SAFE_INTEGER,
  max: number = Number.MAX_SAFE_INTEGER,
): void {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(
      `Cannot use the storage: ${what} must be an integer from ${min} to ${max}, is ${value}`,
    );
  }
}

/** Checks that a number has an order among others: infinities do, NaN does not. */
function comparable(value: number, what: string): void {
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw new RangeError(`Cannot use the storage: ${what} must be a number, is ${value}`);
  }
}

/** @throws {TypeError} Always: the value is of an unknown kind. */
function unknown(what: string, value: unknown): never {
  throw new TypeError(`Cannot use the storage: unknown ${what} in ${JSON.stringify(value)}`);
}
