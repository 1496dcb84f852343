/**
 * The checks that every adapter of a side port makes before it touches anything.
 *
 * @module
 */
import { count, integer, name, text } from "./_assert.ts";
import { blobNameCharactersMax, leaseMsMax, limitRulesMax, queueBatchMax, valueBytesMax } from "./limits.ts";
import type { BlobRange, LimitRule, QueueLease } from "./ports.ts";

const blobSegment = /^[A-Za-z0-9._-]+$/;

/**
 * Checks the arguments of `Limiter.take` and `Limiter.reset`.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit, or the cost exceeds a rule's, so that it could never be
 *   spent.
 */
export function validateTake(subject: string, rules: readonly LimitRule[], cost: number = 1): void {
  name(subject, "subject");
  count(rules.length, "the number of rules", limitRulesMax);
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
  count(bodies.length, "the number of messages", queueBatchMax);
  for (const body of bodies) text(body, "body", 0, valueBytesMax);
}

/**
 * Checks the arguments of `Queue.take`.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit or is ill-formed.
 */
export function validateLease(topic: string, lease: QueueLease): void {
  name(topic, "topic");
  name(lease.consumer, "consumer");
  integer(lease.limit, "limit", 1, queueBatchMax);
  integer(lease.leaseMs, "leaseMs", 1, leaseMsMax);
}

/**
 * Checks the arguments of `Queue.ack`; what no message is called is no misuse.
 *
 * @throws {TypeError | RangeError} An argument exceeds a limit or is ill-formed.
 */
export function validateAck(topic: string, ids: readonly string[]): void {
  name(topic, "topic");
  count(ids.length, "the number of ids", queueBatchMax);
  for (const id of ids) name(id, "id");
}

/**
 * Checks the name of a blob: 1 to {@linkcode blobNameCharactersMax} of `[A-Za-z0-9._/-]`, without empty or dot segments.
 *
 * @throws {TypeError | RangeError} It is none, so that no name can leave the place where blobs are kept.
 */
export function validateBlobName(value: string): void {
  text(value, "the name of a blob", 1, blobNameCharactersMax);
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
