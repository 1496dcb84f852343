/**
 * Records cached as objects: an object becomes text only when a commit or a caller needs the text. Once marks
 * need no cache: they are nearly always absent when a decision looks for them.
 */

import { flattenString } from "../base/text/mod.ts";
import type {
  FieldCheck,
  Partition,
  Put,
  Read,
  ReadRecord,
  ReadTally,
  Stored,
  Version,
  Write,
} from "./contract.ts";

/**
 * A map of bounded size in two generations: when the younger one is full, the elder one is dropped as a whole. Entries read
 * or written since then stay. A `Map` that drops its oldest entry at every write costs a hundred times as much, because it
 * steps over deleted entries.
 */
export class BoundedCache<V, K = string> {
  readonly #generationMax: number;
  #young = new Map<K, V>();
  #elder = new Map<K, V>();

  /** At most `entriesMax` entries are kept, two at least. */
  constructor(entriesMax: number) {
    this.#generationMax = Math.floor(entriesMax / 2);
  }

  /** Number of entries. */
  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  /** Returns the value of a key, which is thereby used. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const elder = this.#elder.get(key);
    if (elder !== undefined) this.set(key, elder);
    return elder;
  }

  set(key: K, value: V): void {
    if (!this.#young.has(key)) {
      this.#elder.delete(key);
      if (this.#young.size >= this.#generationMax) {
        this.#elder = this.#young;
        this.#young = new Map();
      }
    }
    this.#young.set(key, value);
  }

  /** Forgets a key. */
  delete(key: K): void {
    this.#young.delete(key);
    this.#elder.delete(key);
  }
}

const hitScoreMax = 64;
/** Cost of a stale record in hit score. A hit gains 1, so the cache is used if at least four of five records hit. */
const staleCost = 4;

interface RecordCacheOptions<T> {
  readonly key: string;
  /** @default JSON.parse */
  readonly parse?: (text: string) => T;
  /** Makes a text of which `parse` makes an equal object. @default JSON.stringify */
  readonly print?: (value: T) => string;
  readonly entriesMax: number;
}

/**
 * Caches, for one store, the objects behind the records of one key in many partitions.
 *
 * A rule that reads `query` and writes `put(value)` never parses what this process has parsed or written before. Of the
 * decisions in one commit only the last object is printed. If a rule reads nothing but cached records and once marks, it
 * is decided without a read, and the commit checks the versions. The rule is decided again from the store if a version is
 * stale or if it has nothing to commit. While other processes change the records so often that this would cost more than
 * it saves, the store is read.
 */
export class RecordCache<T> {
  /** Query for the record, for rules of `decide`. */
  readonly query: ReadRecord;
  readonly #parse: (text: string) => T;
  readonly #print: (value: T) => string;
  readonly #records: BoundedCache<CachedRecord>;
  #hitScore = hitScoreMax;

  constructor({ key, parse = JSON.parse, print = JSON.stringify, entriesMax }: RecordCacheOptions<T>) {
    this.#parse = parse;
    this.#print = print;
    this.#records = new BoundedCache(entriesMax);
    const query: CachedRead = { type: "record", key, cache: this };
    this.query = query;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Returns the object that this process last saw in the record of a partition, current or not. */
  peek(partition: Partition): T | undefined {
    return this.#records.get(partition)?.object as T | undefined;
  }

  /** Returns the object of a record as read. The object is shared and must not be changed. */
  valueOf(partition: Partition, stored: Stored): T {
    if (stored instanceof CachedRecord && stored.cache === this) return stored.object as T;
    const entry = this.#records.get(partition);
    if (entry?.version === stored.version) return entry.object as T;
    const value = this.#parse(stored.value);
    this.keep(partition, new CachedRecord(this.query.key, this, value), stored.version);
    return value;
  }

  /** Returns the write that puts an object into the record. The object must not be changed from then on. */
  put(value: T): Put {
    return new CachedRecord(this.query.key, this, value);
  }

  /** Returns the record to decide from without a read; undefined if it is not cached or the cache is stale too often. */
  recall(partition: Partition): Stored | undefined {
    return this.#hitScore * 2 >= hitScoreMax ? this.#records.get(partition) : undefined;
  }

  /** Compares the cached record with what the store returned. */
  compare(partition: Partition, stored: Stored | null): void {
    const entry = this.#records.get(partition);
    if (entry !== undefined) this.recordHit(partition, entry.version === stored?.version);
  }

  /** Counts whether a recalled record was current, and drops a stale one. */
  recordHit(partition: Partition, isCurrent: boolean): void {
    if (!isCurrent) this.#records.delete(partition);
    this.#hitScore = isCurrent
      ? Math.min(hitScoreMax, this.#hitScore + 1)
      : Math.max(0, this.#hitScore - staleCost);
  }

  /** Returns the text of an object. */
  print(value: T): string {
    return flattenString(this.#print(value));
  }

  /** Caches an object that was read or committed. */
  keep(partition: Partition, record: CachedRecord, version: Version): void {
    this.#records.set(partition, record.asRead(version));
  }
}

type AnyRecordCache = Pick<RecordCache<unknown>, "recall" | "compare" | "recordHit" | "keep" | "print">;

interface CachedRead extends ReadRecord {
  readonly cache: AnyRecordCache;
}

/**
 * An object as a record: the write that puts it, and then the record as read. Stores get the plain write that
 * {@linkcode plainWrites} makes of it.
 */
export class CachedRecord implements Put, Stored {
  readonly type = "put";
  readonly key: string;
  readonly cache: AnyRecordCache;
  readonly object: unknown;
  #text: string | undefined;
  #version: Version | (() => Version) = "";

  constructor(key: string, cache: AnyRecordCache, object: unknown) {
    this.key = key;
    this.cache = cache;
    this.object = object;
  }

  /** Text of the object, made when it is first asked for. */
  get value(): string {
    this.#text ??= this.cache.print(this.object);
    return this.#text;
  }

  get version(): Version {
    return typeof this.#version === "string" ? this.#version : this.#version();
  }

  /** Makes it the record of a version, or of one that is known later. An object that stays cached is rarely printed twice. */
  asRead(version: Version | (() => Version)): this {
    this.#version = version;
    this.#text = undefined;
    return this;
  }
}

export function plainWrites(writes: readonly Write[]): readonly Write[] {
  return writes.map(plainWrite);
}

function plainWrite(write: Write): Write {
  return write instanceof CachedRecord ? { type: "put", key: write.key, value: write.value } : write;
}

export function keepWritten(partition: Partition, writes: readonly Write[], version: Version): void {
  for (const write of writes) {
    if (write instanceof CachedRecord) write.cache.keep(partition, write, version);
  }
}

/** Returns the results of the queries from caches, or null if one of them needs the store. */
export function recall(partition: Partition, queries: readonly Read[]): readonly unknown[] | null {
  // Most decisions read something else too.
  if (queries.length === 0 || !queries.every(isRecallable)) return null;
  const recalled = queries.map(query => (isCachedRead(query) ? query.cache.recall(partition) : noMarks));
  return recalled.includes(undefined) ? null : recalled;
}

export function compareRead(
  partition: Partition,
  queries: readonly Read[],
  results: readonly unknown[],
): void {
  let index = 0;
  for (const query of queries) {
    const result = results[index++];
    if (isCachedRead(query)) query.cache.compare(partition, result as Stored | null);
  }
}

export function recordHits(partition: Partition, queries: readonly Read[], isCurrent: boolean): void {
  for (const query of queries) if (isCachedRead(query)) query.cache.recordHit(partition, isCurrent);
}

function isRecallable(query: Read): boolean {
  return isCachedRead(query) || isOnceMarkRead(query);
}

function isCachedRead(query: Read): query is CachedRead {
  return query.type === "record" && "cache" in query;
}

interface OnceMarkRead extends ReadTally {
  readonly field: string;
}

/**
 * Reads a once mark; the result is that of reading the field from its tally. If the field is absent, the commit checks
 * that it still is. A rule that reads only cached records and once marks is therefore decided without a read, as if the
 * marks were absent. It is decided again from the store if they are not.
 */
export function onceMark(key: string, field: string): ReadTally {
  const query: OnceMarkRead = { type: "tally", key, fields: [field], field };
  return query;
}

/** Returns true for queries made by {@linkcode onceMark}. */
export function isOnceMarkRead(query: Read): query is OnceMarkRead {
  return query.type === "tally" && "field" in query;
}

const noMarks: ReadonlyMap<string, number> = new Map();

/** Returns the check of a mark in a commit, or null if the mark was there. */
export function absenceCheck({ key, field }: OnceMarkRead, read: unknown): FieldCheck | null {
  return (read as ReadonlyMap<string, number>).has(field) ? null : { key, absent: field };
}
