import { Board } from "./board/board.ts";
import { Expiry, type KeptRecord, sweepSteps } from "./expiry.ts";
import type { Log } from "./log.ts";

/** A tally: values by field. */
export type Tally = Map<string, number>;

/** What each shape is kept as. */
export interface Shapes {
  record: KeptRecord;
  tally: Tally;
  board: Board;
  log: Log;
}

/** The name of a shape. */
export type Shape = keyof Shapes;

type Keys = { [S in Shape]: Map<string, Shapes[S]> | undefined };

/** One partition: a key space per shape, each made when it is first used. */
export class Space {
  readonly #keys: Keys = { record: undefined, tally: undefined, board: undefined, log: undefined };

  /** What a key holds in a shape. */
  get<S extends Shape>(shape: S, key: string): Shapes[S] | undefined {
    return this.#keys[shape]?.get(key);
  }

  /** Every key of a shape. Keys that come or go between two steps may or may not be among them. */
  entries<S extends Shape>(shape: S): Iterable<[string, Shapes[S]]> {
    return this.#keys[shape] ?? [];
  }

  /** Whether no shape holds a key. */
  get empty(): boolean {
    const { record, tally, board, log } = this.#keys;
    return record === undefined && tally === undefined && board === undefined && log === undefined;
  }

  /** Lets a key hold a value. */
  set<S extends Shape>(shape: S, key: string, value: Shapes[S]): void {
    const keys: Keys[S] = this.#keys[shape];
    if (keys !== undefined) keys.set(key, value);
    else this.#keys[shape] = new Map([[key, value]]) as Keys[S];
  }

  /** Empties a key. */
  delete(shape: Shape, key: string): void {
    const keys = this.#keys[shape];
    keys?.delete(key);
    if (keys?.size === 0) this.#keys[shape] = undefined;
  }
}

/** Every partition, and what reaches across them: the expiry of records and the count of commits. */
export class State {
  readonly #spaces: Map<string, Space> = new Map();
  readonly #expiry: Expiry = new Expiry();
  readonly #seed: number;
  /** The number of the last commit; versions are made of it. */
  counter: number;

  /** Commits are numbered from `counter` on; `seed` is that of {@linkcode Board}. */
  constructor(counter: number, seed: number) {
    this.counter = counter;
    this.#seed = seed;
  }

  /** A partition, or undefined where nothing was written. */
  find(partition: string): Space | undefined {
    return this.#spaces.get(partition);
  }

  /** A partition, made where nothing was written yet. */
  open(partition: string): Space {
    const found = this.#spaces.get(partition);
    if (found !== undefined) return found;
    const space = new Space();
    this.#spaces.set(partition, space);
    return space;
  }

  /** Every partition. Those that come or go between two steps may or may not be among them. */
  partitions(): Iterable<[string, Space]> {
    return this.#spaces;
  }

  /** Forgets a partition that holds nothing. */
  prune(partition: string): void {
    if (this.#spaces.get(partition)?.empty) this.#spaces.delete(partition);
  }

  /** A board without members. */
  newBoard(): Board {
    return new Board(this.#seed);
  }

  /** Gives a record key the state `record`, or none. */
  setRecord(partition: string, key: string, record: KeptRecord | undefined): void {
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
