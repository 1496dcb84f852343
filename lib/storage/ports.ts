import type { Partition, Store } from "./contract.ts";

/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Side ports: rate limits, queues, blobs and listings, apart from the {@linkcode Store} because their needs differ.
 */

/** One rate: at most `limit` units in any `windowMs`. A unit is regained after that time, at most a hundredth of it later. */
export interface LimitRule {
  /** Short policy name, sent to clients in `RateLimit-Policy`. */
  readonly name: string;
  /** Units that may be spent at once; a positive integer. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The answer of a limiter. Times are whole milliseconds, rounded up: waiting that long is always enough. */
export interface LimitVerdict {
  /** True if this rule allowed the cost; it is spent only where every rule did. */
  readonly allowed: boolean;
  /** Units that may be spent right now. */
  readonly remaining: number;
  /** Until all units are regained, in ms. */
  readonly resetMs: number;
  /** Until the refused cost would be allowed, in ms; 0 when allowed. */
  readonly retryAfterMs: number;
}

/** Counts the use of something by a subject. One round trip; may live on another server than the store. */
export interface Limiter extends AsyncDisposable {
  /**
   * Spends `cost` units (default 1) of every rule, or of none where one refuses. One verdict per rule, in order; without a promise
   * if the limiter counts in memory.
   *
   * @throws {RangeError} The cost exceeds the limit of a rule: no waiting would ever allow it.
   */
  take(
    subject: string,
    rules: readonly LimitRule[],
    cost?: number,
  ): readonly LimitVerdict[] | Promise<readonly LimitVerdict[]>;
  /** Forgets what the subject spent under the rules. */
  reset(subject: string, rules: readonly LimitRule[]): Promise<void>;
}

export interface PartitionQuery {
  readonly prefix: string;
  /** The key of a record that they hold. */
  readonly record: string;
}

/**
 * Lists partitions, for occasional work of operators. No part of the store: it reads every key that is stored,
 * which no request may ask for.
 */
export interface PartitionLister {
  /**
   * Returns every partition that exists for the whole call, in groups of a thousand or so and in no order. Some may come twice, and so may some
   * whose record has just expired.
   */
  partitions(query: PartitionQuery): AsyncIterable<readonly Partition[]>;
}

export interface BlobInfo {
  /** Size in bytes. */
  readonly size: number;
}

/** A range of the bytes of a blob. */
export interface BlobRange {
  /** @default 0 */
  readonly start?: number;
  /** Exclusive. @default the size of the blob */
  readonly end?: number;
}

/** Bytes of a blob; `size` is that of the whole. */
export interface OpenBlob extends BlobInfo {
  readonly body: ReadableStream<Uint8Array>;
}

/** Large immutable byte sequences under names of `[A-Za-z0-9._/-]`, 1 to 256 characters, without empty or dot segments. */
export interface Blobs extends AsyncDisposable {
  /**
   * Stores the stream under the name, replacing what was there only once the whole stream has arrived. Memory of its chunks may
   * be used for something else once this resolves.
   */
  put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo>;
  /**
   * Opens bytes `start` (default 0) to `end` exclusive (default the size), or answers null if the name is unknown.
   * Bounds beyond the size count as the size, which is always that of the whole blob.
   */
  get(name: string, range?: BlobRange): Promise<OpenBlob | null>;
  /** Removes the blob; nothing happens where the name is unknown. */
  remove(name: string): Promise<void>;
}

/** Terms under which messages are handed out. */
export interface QueueLease {
  readonly consumer: string;
  readonly limit: number;
  readonly leaseMs: number;
}

/** A message handed to a consumer, to be settled with `ack` before its lease ends. */
export interface QueueMessage {
  readonly id: string;
  readonly body: string;
  /** Number of times it has been handed out, this one included. */
  readonly attempts: number;
}

/** At-least-once delivery of messages per topic, in order of arrival, to competing consumers. */
export interface Queue extends AsyncDisposable {
  /** Resolves with the ids once every message is accepted; rejects with `busy`, accepting none, past `depthMax`. */
  push(topic: string, bodies: readonly string[]): Promise<readonly string[]>;
  /** Hands out up to `limit` messages under a lease: first those whose lease ended, then new ones. Never waits. */
  take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]>;
  /** Settles messages: they are never handed out again. Unknown ids are ignored. */
  ack(topic: string, ids: readonly string[]): Promise<void>;
  /**
   * Ends every lease of the topic now: what was handed out and not settled is handed out again in the order of arrival, before
   * new ones. For a consumer that takes over the topic of one that is gone.
   */
  release(topic: string): Promise<void>;
  /** Returns the number of messages that are not settled. */
  depth(topic: string): Promise<number>;
  /** Returns the Unix ms at which the oldest message that is not settled was accepted; null where there is none. */
  oldest(topic: string): Promise<number | null>;
}

/** A storage of your own: what the default export of the module of `GRANDSTAND_STORE` returns or resolves with. */
export interface OwnStorage {
  readonly store: Store & PartitionLister;
  /** Several processes share the storage only if it has a queue. @default messages in the store, for one process */
  readonly queue?: Queue | undefined;
  /** @default each process counts in its memory */
  readonly limiter?: Limiter | undefined;
  /** @default what `GRANDSTAND_BLOBS` names, else memory */
  readonly blobs?: Blobs | undefined;
  /** Runs after all of these are closed, for example to close the connections that they share. */
  close?(): Promise<void>;
}

export const windowBuckets = 100;

/** Longest time for which a use may be ahead of the clock, in ms, before the clock counts as put back. */
export const useAheadMsMax = 60_000;

export function bucketAt(at: number, { windowMs }: Pick<LimitRule, "windowMs">): number {
  return Math.floor((at * windowBuckets) / windowMs);
}

interface WindowUse {
  readonly total: number;
  readonly newest: number;
  /** The bucket with whose end a refused cost would be allowed; null where it was allowed. */
  readonly awaited: number | null;
}

/** Returns the verdict on a cost at `now` (Unix ms). */
export function windowVerdict(
  rule: LimitRule,
  { total, newest, awaited }: WindowUse,
  now: number,
): LimitVerdict {
  return {
    allowed: awaited === null,
    remaining: rule.limit - total,
    resetMs: total === 0 ? 0 : untilEnd(newest, rule, now),
    retryAfterMs: awaited === null ? 0 : untilEnd(awaited, rule, now),
  };
}

/** Returns the time in ms after which a bucket does not count any more, at least 1. */
function untilEnd(bucket: number, { windowMs }: LimitRule, now: number): number {
  return Math.max(1, Math.ceil(((bucket + windowBuckets + 1) * windowMs) / windowBuckets) - now);
}
