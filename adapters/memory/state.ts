import type { BoardRange, LogEntry, Read, Standing, Stored } from "../../lib/storage/contract.ts";
import { Board } from "./board/board.ts";
import type { Log } from "./log.ts";

/** A stored record. */
export interface StoredRecord {
  readonly partition: string;
  readonly key: string;
  readonly value: string;
  readonly version: string;
  /** Unix ms, or infinity. */
  readonly expireAt: number;
  /** The index among the records that expire, or -1. */
  expiryIndex: number;
}

/** Records looked at per commit, and again per record put with an expiry. */
export const sweepSteps = 4;

/** The records that expire, each once. */
export class Expiry {
  readonly #records: StoredRecord[] = [];
  #hand = 0;

  /** The number of records that expire and are still kept. */
  get size(): number {
    return this.#records.length;
  }

  /** Begins to watch a record; does nothing for one that never expires. */
  add(record: StoredRecord): void {
    if (record.expireAt === Number.POSITIVE_INFINITY) return;
    record.expiryIndex = this.#records.length;
    this.#records.push(record);
  }

  /** Stops watching a record. */
  remove(record: StoredRecord): void {
    if (record.expiryIndex < 0) return;
    const last = this.#records.pop();
    if (last !== undefined && last !== record) {
      this.#records[record.expiryIndex] = last;
      last.expiryIndex = record.expiryIndex;
    }
    record.expiryIndex = -1;
  }

  /** Looks at `steps` records and hands those that have expired to `expire`, which must remove them here too. */
  sweep(now: number, steps: number, expire: (record: StoredRecord) => void): void {
    for (let step = 0; step < steps && this.#records.length > 0; step++) {
      if (this.#hand >= this.#records.length) this.#hand = 0;
      const record = this.#records[this.#hand];
      if (record !== undefined && now >= record.expireAt) expire(record);
      else this.#hand++;
    }
  }
}

/** A tally: values by field. */
export type Tally = Map<string, number>;

/** In-memory form of each shape. */
export interface Shapes {
  record: StoredRecord;
  tally: Tally;
  board: Board;
  log: Log;
}

/** The name of a shape. */
export type Shape = keyof Shapes;

type Keys = { [S in Shape]: Map<string, Shapes[S]> | undefined };

/** One partition: a key space per shape, each made when it is first used. */
export class PartitionState {
  readonly #keys: Keys = { record: undefined, tally: undefined, board: undefined, log: undefined };

  /** Returns the value of a key in a shape. */
  get<S extends Shape>(shape: S, key: string): Shapes[S] | undefined {
    return this.#keys[shape]?.get(key);
  }

  /** Returns every key of a shape. Keys that come or go between two steps may or may not be among them. */
  entries<S extends Shape>(shape: S): Iterable<[string, Shapes[S]]> {
    return this.#keys[shape] ?? [];
  }

  /** Returns true if no shape holds a key. */
  get empty(): boolean {
    const { record, tally, board, log } = this.#keys;
    return record === undefined && tally === undefined && board === undefined && log === undefined;
  }

  /** Sets the value of a key. */
  set<S extends Shape>(shape: S, key: string, value: Shapes[S]): void {
    const keys: Keys[S] = this.#keys[shape];
    if (keys !== undefined) keys.set(key, value);
    else this.#keys[shape] = new Map([[key, value]]) as Keys[S];
  }

  /** Deletes a key. */
  delete(shape: Shape, key: string): void {
    const keys = this.#keys[shape];
    keys?.delete(key);
    if (keys?.size === 0) this.#keys[shape] = undefined;
  }
}

/** All partitions, the expiry of their records and the count of commits. */
export class State {
  readonly #spaces: Map<string, PartitionState> = new Map();
  readonly #expiry: Expiry = new Expiry();
  readonly #seed: number;
  /** Number of the last commit, from which versions are made. */
  counter: number;

  /** Commits are numbered from `counter` on; `seed` is that of {@linkcode Board}. */
  constructor(counter: number, seed: number) {
    this.counter = counter;
    this.#seed = seed;
  }

  /** Returns a partition, or undefined if nothing was written. */
  find(partition: string): PartitionState | undefined {
    return this.#spaces.get(partition);
  }

  /** Returns a partition, made where nothing was written yet. */
  open(partition: string): PartitionState {
    const found = this.#spaces.get(partition);
    if (found !== undefined) return found;
    const space = new PartitionState();
    this.#spaces.set(partition, space);
    return space;
  }

  /** Returns every partition. Those that come or go between two steps may or may not be among them. */
  partitions(): Iterable<[string, PartitionState]> {
    return this.#spaces;
  }

  /** Removes a partition that holds nothing. */
  prune(partition: string): void {
    if (this.#spaces.get(partition)?.empty) this.#spaces.delete(partition);
  }

  /** Returns a board without members. */
  newBoard(): Board {
    return new Board(this.#seed);
  }

  /** Sets or deletes the record of a key. */
  setRecord(partition: string, key: string, record: StoredRecord | undefined): void {
    const space = this.open(partition);
    const before = space.get("record", key);
    if (before !== undefined) this.#expiry.remove(before);
    if (record === undefined) {
      space.delete("record", key);
    } else {
      space.set("record", key, record);
      this.#expiry.add(record);
    }
  }

  /** Removes some of the records that have expired: enough to bound them if called with the writes of each commit. */
  sweep(now: number, writes: number): void {
    this.#expiry.sweep(now, sweepSteps * (1 + writes), record => {
      this.setRecord(record.partition, record.key, undefined);
      this.prune(record.partition);
    });
  }
}

/** Returns the record of a key, or undefined if it is absent or has expired. */
export function liveRecord(
  space: PartitionState | undefined,
  key: string,
  now: number,
): StoredRecord | undefined {
  const record = space?.get("record", key);
  return record === undefined || now >= record.expireAt ? undefined : record;
}

/** Answers one query from a partition, or from an empty one. Results share nothing with the state. */
export function answer(
  space: PartitionState | undefined,
  query: Read,
  now: number,
): Stored | null | ReadonlyMap<string, number> | BoardRange | Standing | number | LogEntry[] {
  switch (query.type) {
    case "record": {
      const record = liveRecord(space, query.key, now);
      return record === undefined ? null : { value: record.value, version: record.version };
    }
    case "tally":
      return fields(space?.get("tally", query.key), query.fields);
    case "board":
      return space?.get("board", query.key)?.range(query) ?? { entries: [], size: 0 };
    case "standing":
      return space?.get("board", query.key)?.standing(query) ?? null;
    case "before":
      return space?.get("board", query.key)?.before(query) ?? 0;
    case "log":
      return space?.get("log", query.key)?.range(query) ?? [];
  }
}

function fields(
  tally: ReadonlyMap<string, number> | undefined,
  wanted: readonly string[] | undefined,
): ReadonlyMap<string, number> {
  if (tally === undefined || wanted === undefined) return new Map(tally);
  const found = new Map<string, number>();
  for (const field of wanted) {
    const value = tally.get(field);
    if (value !== undefined) found.set(field, value);
  }
  return found;
}
