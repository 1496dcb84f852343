/** The state of a memory store: records, tallies, boards and logs by partition. */

import type {
  BoardRange,
  BoardWindow,
  LogEntry,
  Read,
  ReadLog,
  Standing,
  Stored,
} from "../../lib/storage/contract.ts";
import { Board } from "./board/board.ts";

/** The order of log entries: milliseconds, then the sequence within them. */
export interface LogPosition {
  readonly ms: number;
  readonly seq: number;
}

export interface LogItem extends LogPosition {
  readonly value: string;
}

/** Dropped entries are kept in the array until they are this many and half of it. */
const slackMax = 32;

/** An append-only list of entries in order of their positions, trimmed at its old end. */
export class Log {
  #items: LogItem[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get last(): LogItem | undefined {
    return this.#items.at(-1);
  }

  get first(): LogItem | undefined {
    return this.#items[this.#head];
  }

  /** Returns the position of an entry appended at `at`: time never runs backwards along a log. */
  next(at: number): LogPosition {
    const last = this.last;
    return last === undefined || at > last.ms ? { ms: at, seq: 1 } : { ms: last.ms, seq: last.seq + 1 };
  }

  /** Appends an entry, whose position must be beyond the last one. */
  push(item: LogItem): void {
    this.#items.push(item);
  }

  pop(): void {
    this.#items.pop();
  }

  drop(count: number): LogItem[] {
    const dropped = this.#items.slice(this.#head, this.#head + count);
    this.#head += count;
    if (this.#head > slackMax && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return dropped;
  }

  restore(dropped: readonly LogItem[]): void {
    this.#items = [...dropped, ...this.#items.slice(this.#head)];
    this.#head = 0;
  }

  /** Returns the number of entries before a position, or with `inclusive` at it or before. */
  before(place: LogPosition, inclusive: boolean): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.#items[middle] as LogItem;
      const order = item.ms - place.ms || item.seq - place.seq;
      if (order < 0 || (inclusive && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  /** Up to `count` entries from a position on, oldest first. */
  slice(start: number, count: number): LogItem[] {
    return this.#items.slice(this.#head + start, this.#head + start + count);
  }

  range(query: ReadLog): LogEntry[] {
    const { from, to, cursor, limit, reverse = false } = query;
    let start = from === undefined ? 0 : this.before({ ms: from, seq: 0 }, false);
    let end = to === undefined ? this.size : this.before({ ms: to, seq: Number.POSITIVE_INFINITY }, true);
    if (cursor !== undefined) {
      const place = parsePlace(cursor);
      if (reverse) end = Math.min(end, this.before(place, false));
      else start = Math.max(start, this.before(place, true));
    }
    const count = Math.max(0, Math.min(limit, end - start));
    const items = reverse ? this.slice(end - count, count).reverse() : this.slice(start, count);
    return items.map(({ ms, seq, value }) => ({ id: `${ms}-${seq}`, at: ms, value }));
  }
}

function parsePlace(id: string): LogPosition {
  const hyphen = id.indexOf("-");
  return { ms: Number(id.slice(0, hyphen)), seq: Number(id.slice(hyphen + 1)) };
}

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

export type Tally = Map<string, number>;

interface Shapes {
  record: StoredRecord;
  tally: Tally;
  board: Board;
  log: Log;
}

export type Shape = keyof Shapes;

type Keys = { [S in Shape]: Map<string, Shapes[S]> | undefined };

/** One partition: a key space per shape, each made when it is first used. */
export class PartitionState implements Keys {
  record: Keys["record"] = undefined;
  tally: Keys["tally"] = undefined;
  board: Keys["board"] = undefined;
  log: Keys["log"] = undefined;
  /** Number of the last change, unique among those of all partitions. */
  lastChange = 0;

  get<S extends Shape>(shape: S, key: string): Shapes[S] | undefined {
    const keys: Keys[S] = this[shape];
    return keys?.get(key);
  }

  /** Returns every key of a shape. Keys that come or go between two steps may or may not be among them. */
  entries<S extends Shape>(shape: S): Iterable<[string, Shapes[S]]> {
    const keys: Keys[S] = this[shape];
    return keys ?? [];
  }

  get empty(): boolean {
    const { record, tally, board, log } = this;
    return record === undefined && tally === undefined && board === undefined && log === undefined;
  }

  set<S extends Shape>(shape: S, key: string, value: Shapes[S]): void {
    const keys: Keys[S] = this[shape];
    if (keys !== undefined) keys.set(key, value);
    else (this as Keys)[shape] = new Map([[key, value]]) as Keys[S];
  }

  delete(shape: Shape, key: string): void {
    const keys = this[shape];
    keys?.delete(key);
    if (keys?.size === 0) this[shape] = undefined;
  }
}

export class State {
  readonly #spaces: Map<string, PartitionState> = new Map();
  readonly #expiry: Expiry = new Expiry();
  readonly #seed: number;
  /** Number of the last commit, from which versions are made. */
  counter: number;
  #changes = 0;

  /** Commits are numbered from `counter` on; `seed` is that of {@linkcode Board}. */
  constructor(counter: number, seed: number) {
    this.counter = counter;
    this.#seed = seed;
  }

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

  prune(partition: string): void {
    if (this.#spaces.get(partition)?.empty) this.#spaces.delete(partition);
  }

  /** Gives a partition that changes a new number. */
  note(space: PartitionState): void {
    this.#changes++;
    space.lastChange = this.#changes;
  }

  newBoard(): Board {
    return new Board(this.#seed);
  }

  setRecord(space: PartitionState, key: string, record: StoredRecord | undefined): void {
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
      this.setRecord(this.open(record.partition), record.key, undefined);
      this.prune(record.partition);
    });
  }
}

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
): Stored | null | ReadonlyMap<string, number> | BoardRange | BoardWindow | Standing | number | LogEntry[] {
  switch (query.type) {
    case "record": {
      const record = liveRecord(space, query.key, now);
      return record === undefined ? null : { value: record.value, version: record.version };
    }
    case "tally":
      return fields(space?.get("tally", query.key), query.fields);
    case "board":
      return space?.get("board", query.key)?.range(query) ?? { entries: [], size: 0 };
    case "around":
      return space?.get("board", query.key)?.around(query) ?? null;
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
