import { CachedValue, CachedPut, CachedRecord, type Keeper } from "./_held.ts";
import { BoundedCache } from "./bounded_cache.ts";
import type { Partition, Put, ReadRecord, Stored, Version } from "./contract.ts";

/** Most trust that a memory has; it is relied on while it has at least half of it. */
export const trustMax = 64;
/** What a stale memory costs in trust. One that holds gains 1: memory is used where four of five hold. */
export const trustLost = 4;

/** What a memory of records needs to know. */
export interface RecordCacheOptions<T> {
  /** The key of the record in every partition. */
  readonly key: string;
  /** @default JSON.parse */
  readonly parse?: (text: string) => T;
  /** Makes a text of which `parse` makes an equal object. @default JSON.stringify */
  readonly print?: (value: T) => string;
  /** Most records that are remembered. */
  readonly entriesMax: number;
}

/**
 * The objects that the records under one key of many partitions hold, for one store.
 *
 * A rule that reads `query` and writes what `put` makes never parses what this process has parsed or written before, and
 * of the decisions of one commit only the last is printed. Where all that a rule reads is remembered, it decides without
 * reading: the commit checks the versions, and where they are stale, or there is nothing to commit, the rule decides
 * again from what the store says. While other processes change the records so often that this would cost more than it
 * saves, the store is read.
 */
export class RecordCache<T> {
  /** Reads the record; to be used in the rules of `decide`. */
  readonly query: ReadRecord;
  readonly #parse: (text: string) => T;
  readonly #print: (value: unknown) => string;
  readonly #records: BoundedCache<CachedRecord>;
  readonly #keeper: Keeper;
  #trust = trustMax;

  constructor({ key, parse = JSON.parse, print = JSON.stringify, entriesMax }: RecordCacheOptions<T>) {
    this.#parse = parse;
    this.#print = print as (value: unknown) => string;
    this.#records = new BoundedCache(entriesMax);
    this.#keeper = {
      recall: partition => (this.#trust * 2 >= trustMax ? this.#records.get(partition) : undefined),
      compare: (partition, stored) => this.#compare(partition, stored),
      judge: (partition, wasCurrent) => this.#judge(partition, wasCurrent),
      keep: (partition, held, version) => this.#keep(partition, held, version),
    };
    const query = { type: "record", key, keeper: this.#keeper } as const;
    this.query = query;
  }

  /** Number of records remembered. */
  get size(): number {
    return this.#records.size;
  }

  /** The object that the record of a partition held when this process last looked; undefined where it does not know. */
  peek(partition: Partition): T | undefined {
    return this.#records.get(partition)?.held.value as T | undefined;
  }

  /** The object that the record of a partition holds; nobody may change it. */
  valueOf(partition: Partition, stored: Stored): T {
    if (stored instanceof CachedRecord && stored.held.keeper === this.#keeper) return stored.held.value as T;
    const known = this.#records.get(partition);
    if (known?.version === stored.version) return known.held.value as T;
    const value = this.#parse(stored.value);
    this.#keep(partition, new CachedValue(this.#keeper, value, this.#print), stored.version);
    return value;
  }

  /** The write that lets the record hold an object, which nobody may change from then on. */
  put(value: T): Put {
    return new CachedPut(this.query.key, new CachedValue(this.#keeper, value, this.#print));
  }

  #keep(partition: Partition, held: CachedValue, version: Version): void {
    held.release();
    this.#records.set(partition, new CachedRecord(held, version));
  }

  #compare(partition: Partition, stored: Stored | null): void {
    const known = this.#records.get(partition);
    if (known !== undefined) this.#judge(partition, known.version === stored?.version);
  }

  #judge(partition: Partition, wasCurrent: boolean): void {
    if (!wasCurrent) this.#records.delete(partition);
    this.#trust = wasCurrent ? Math.min(trustMax, this.#trust + 1) : Math.max(0, this.#trust - trustLost);
  }
}
