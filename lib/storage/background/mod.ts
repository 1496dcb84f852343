/** Machinery of background work and of memory: one cache, one batcher, one lease, one due queue for all areas. */

import { AppError, isOutcomeUnknown } from "../../base/errors/mod.ts";
import { BoundedCache, type Partition, type Store, type Stored, type Write } from "../mod.ts";

/** Longest time that work holds the event loop, in ms. */
const sliceMsMax = 5;

/**
 * Creates the pauses of one piece of work: each yields to other work once the current slice is long enough. `nextTurn` resolves
 * after other work that is ready has run.
 */
export function createPause(nextTurn: () => Promise<void> = loopTurn): () => Promise<void> | undefined {
  let began = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    // Tasks that share the pauses go on in one turn, whose slice they share.
    if (turn !== undefined || performance.now() - began < sliceMsMax) return turn;
    turn = nextTurn().then(() => {
      began = performance.now();
      turn = undefined;
    });
    return turn;
  };
}

/** Present in Node, Bun and Deno. */
const { setImmediate: immediate } = globalThis as { readonly setImmediate?: (run: () => void) => unknown };

/** Timers that are due run before everything else, so that several tasks that pause by timers would keep all others out. */
function loopTurn(): Promise<void> {
  return new Promise(resolve => {
    if (immediate === undefined) setTimeout(resolve, 0);
    else immediate(resolve);
  });
}

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** Maps items, at most `concurrency` at a time, in their order. Rejects with the first error; others may still start then. */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  concurrency: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  async function work(): Promise<void> {
    // All workers share one iterator, so each item is taken once.
    for (const [index, item] of waiting) results[index] = await map(item);
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  return results;
}

interface BatcherOptions<T, R = void> {
  /** Runs a batch. Returns the results in the order of the items where callers of `add` wait for any. */
  // biome-ignore lint/suspicious/noConfusingVoidType: A batch without results returns nothing.
  run(key: string, items: readonly T[]): Promise<readonly R[] | void>;
  /** Most items of a batch. @default no bound */
  readonly batchMax?: number | undefined;
  /** Returns how many of the waiting items, at least one, may share a batch. @default all up to `batchMax` */
  countOf?(waiting: readonly T[]): number;
}

interface Settler<R> {
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

interface Lineup<T, R> {
  readonly items: T[];
  /** The caller of each item, or null if none waits for it. */
  readonly settlers: (Settler<R> | null)[];
  accepted: number;
  finished: number;
  idlers: { readonly accepted: number; readonly resolve: () => void }[];
}

/** Collects items and runs them in batches, in the order in which they came. */
export class Batcher<T, R = void> {
  readonly #options: BatcherOptions<T, R>;
  readonly #lineups = new Map<string, Lineup<T, R>>();

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
  }

  add(key: string, item: T): Promise<R> {
    return new Promise((resolve, reject) => this.#accept(key, item, { resolve, reject }));
  }

  /** Adds an item without waiting for it. `run` has to handle what fails: a rejection is dropped. */
  push(key: string, item: T): void {
    this.#accept(key, item, null);
  }

  async idle(): Promise<void> {
    const lineups = [...this.#lineups.values()];
    await Promise.all(
      lineups.map(({ accepted, idlers }) => new Promise<void>(resolve => idlers.push({ accepted, resolve }))),
    );
  }

  #accept(key: string, item: T, settler: Settler<R> | null): void {
    let lineup = this.#lineups.get(key);
    if (lineup === undefined) {
      lineup = { items: [], settlers: [], accepted: 0, finished: 0, idlers: [] };
      this.#lineups.set(key, lineup);
      void this.#drain(key, lineup);
    }
    lineup.items.push(item);
    lineup.settlers.push(settler);
    lineup.accepted += 1;
  }

  async #drain(key: string, lineup: Lineup<T, R>): Promise<void> {
    // Everything added in the same turn joins the first batch.
    await null;
    const { countOf, batchMax = Number.POSITIVE_INFINITY } = this.#options;
    const { items, settlers } = lineup;
    while (items.length > 0) {
      const count = Math.min(batchMax, countOf?.(items) ?? items.length);
      await this.#run(key, items.splice(0, count), settlers.splice(0, count));
      lineup.finished += count;
      if (lineup.idlers.length > 0) settleIdlers(lineup);
    }
    this.#lineups.delete(key);
  }

  async #run(key: string, items: readonly T[], settlers: readonly (Settler<R> | null)[]): Promise<void> {
    try {
      const results = await this.#options.run(key, items);
      for (let index = 0; index < settlers.length; index++) {
        settlers[index]?.resolve(results?.[index] as R);
      }
    } catch (error) {
      for (const settler of settlers) settler?.reject(error);
    }
  }
}

function settleIdlers(lineup: Pick<Lineup<unknown, unknown>, "idlers" | "finished">): void {
  for (const { accepted, resolve } of lineup.idlers) if (accepted <= lineup.finished) resolve();
  lineup.idlers = lineup.idlers.filter(({ accepted }) => accepted > lineup.finished);
}

interface PacedBatcherOptions<T> {
  /** Handles what fails: a rejection is dropped. */
  run(items: readonly T[]): Promise<void>;
  readonly timer: Timer;
  readonly pauseMs: number;
}

/** Runs a batch at once, and the next ones with a pause before each, which ends where somebody waits for them. */
export class PacedBatcher<T> {
  readonly #batcher: Batcher<T>;
  #idlers = 0;
  #endPause: (() => void) | null = null;

  constructor({ run, timer, pauseMs }: PacedBatcherOptions<T>) {
    this.#batcher = new Batcher({
      run: async (_, items) => {
        await run(items);
        if (this.#idlers === 0) await this.#pause(timer, pauseMs);
      },
    });
  }

  push(item: T): void {
    this.#batcher.push("", item);
  }

  /** Resolves when what was pushed before this call has run. */
  async idle(): Promise<void> {
    this.#idlers += 1;
    this.#endPause?.();
    await this.#batcher.idle();
    this.#idlers -= 1;
  }

  async #pause(timer: Timer, pauseMs: number): Promise<void> {
    await new Promise<void>(resolve => {
      const cancel = timer(resolve, pauseMs);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
    this.#endPause = null;
  }
}

type CacheOptions = {
  /** Most entries, two at least. Of the entries not used for longest, half are dropped at a time. */
  readonly entriesMax: number;
} & (
  | {
      /** Age in ms from which an entry is not returned any more. @default entries have no age */
      readonly maxAgeMs: number;
      /** Unix ms. */
      readonly clock: () => number;
      /** Time in ms beyond its age for which a value still serves while a reload fails. @default 0 */
      readonly staleMs?: number;
    }
  | { readonly maxAgeMs?: never; readonly clock?: () => number; readonly staleMs?: never }
);

export interface Loaded<V> {
  readonly value: V;
  /** Version of the record behind the value. While a reload finds the same version, the cache keeps the old object. */
  readonly version?: string | null;
  /** Unix ms until which the value is returned. @default `maxAgeMs` after the load began */
  readonly until?: number;
}

interface Entry<V> extends Loaded<V> {
  readonly until: number;
}

/** A bounded map of values by key. Values are anything but `undefined`. */
export class Cache<V, K = string> {
  readonly #entries: BoundedCache<Entry<V>, K>;
  readonly #loading = new Map<K, Promise<V>>();
  readonly #maxAgeMs: number;
  readonly #staleMs: number;
  readonly #clock: () => number;

  constructor(options: CacheOptions) {
    const { entriesMax, maxAgeMs = Number.POSITIVE_INFINITY, staleMs = 0, clock = () => 0 } = options;
    this.#entries = new BoundedCache(entriesMax);
    this.#maxAgeMs = maxAgeMs;
    this.#staleMs = staleMs;
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of a key unless it is absent or too old at `now`. */
  get(key: K, now?: number): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // Reading the clock would cost more than the look-up itself.
    const isFresh = entry.until === Number.POSITIVE_INFINITY || (now ?? this.#clock()) < entry.until;
    return isFresh ? entry.value : undefined;
  }

  /** Returns the value of a key without a promise while it is fresh, and loads it else. Racing callers share one load. */
  getOrLoad(key: K, load: (key: K) => Promise<Loaded<V>>, now?: number): V | Promise<V> {
    const value = this.get(key, now);
    if (value !== undefined) return value;
    return this.#loading.get(key) ?? this.#load(key, load);
  }

  /** Sets the value of a key, until a time of its own if one is given. A running load does not overwrite it. */
  set(key: K, value: V, until: number = this.#endOfEntry()): void {
    this.#loading.delete(key);
    this.#entries.set(key, { value, until });
  }

  /** Removes a key, so that the next `getOrLoad` loads it even if a load is running. */
  delete(key: K): void {
    this.#loading.delete(key);
    this.#entries.delete(key);
  }

  #load(key: K, load: (key: K) => Promise<Loaded<V>>): Promise<V> {
    // The value may be as old as the question.
    const end = this.#endOfEntry();
    const loading = load(key)
      .then(({ value, version, until = end }) => {
        const old = this.#entries.get(key);
        const isSame = old !== undefined && version !== undefined && old.version === version;
        const entry: Entry<V> = { value: isSame ? old.value : value, version: version ?? null, until };
        if (this.#loading.get(key) === loading) this.#entries.set(key, entry);
        return entry.value;
      })
      .catch((error: unknown) => {
        const old = this.#entries.get(key);
        if (old === undefined || this.#clock() >= old.until + this.#staleMs) throw error;
        return old.value;
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key);
      });
    this.#loading.set(key, loading);
    return loading;
  }

  #endOfEntry(): number {
    return this.#maxAgeMs === Number.POSITIVE_INFINITY ? this.#maxAgeMs : this.#clock() + this.#maxAgeMs;
  }
}

/** Derives a value from an object once, and keeps it for as long as the object lives. */
export function memoize<K extends object, V extends NonNullable<unknown> | null>(
  derive: (from: K) => V,
): (from: K) => V {
  const derived = new WeakMap<K, V>();
  return from => {
    const cached = derived.get(from);
    if (cached !== undefined) return cached;
    const value = derive(from);
    derived.set(from, value);
    return value;
  };
}

/** Parsed records: a record is parsed once per version, and the same version is always the same object. */
export class ParsedRecords<T> {
  readonly #parse: (text: string) => T;
  readonly #entries: BoundedCache<{ readonly version: string; readonly value: T }>;

  /** @param entriesMax Most records that are kept. */
  constructor(parse: (text: string) => T, entriesMax: number) {
    this.#parse = parse;
    this.#entries = new BoundedCache(entriesMax);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the object of a record, which must not be changed. `name` identifies the record. */
  of(name: string, { version, value: text }: Stored): T {
    const cached = this.#entries.get(name);
    if (cached?.version === version) return cached.value;
    const value = this.#parse(text);
    this.#entries.set(name, { version, value });
    return value;
  }
}

/** Continues with a value at once, or once its promise resolves, so that a value that is there costs no microtask. */
export function chain<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls back after a delay in ms. The returned function cancels the call. */
export type Timer = (callback: () => void, delayMs: number) => () => void;

export const systemTimer: Timer = (callback, delayMs) => {
  const handle = setTimeout(callback, delayMs);
  return () => clearTimeout(handle);
};

interface RetryOptions {
  /** Number of attempts, the first one included. */
  readonly attemptsMax: number;
  /** True for an error after which another attempt may succeed. @default no error */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Returns the error if the last attempt, too, returned undefined. */
  readonly exhausted?: () => Error | undefined;
  /** Waits between attempts. @default no pause */
  readonly pause?: {
    readonly timer: Timer;
    /** Returns the time in ms to wait after an attempt that failed, counted from 1. */
    readonly ms: (attempt: number) => number;
  };
}

/**
 * Makes attempts until one returns something. An attempt asks for another by returning undefined, as where it lost a race, or by
 * an error that is retryable.
 */
export async function retry<T extends NonNullable<unknown> | null>(
  work: (attempt: number) => Promise<T | undefined>,
  { attemptsMax, isRetryable = () => false, exhausted = () => undefined, pause }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt >= attemptsMax;
    let result: T | undefined;
    try {
      result = await work(attempt);
    } catch (error) {
      if (isLast || !isRetryable(error)) throw error;
    }
    if (result !== undefined) return result;
    if (isLast) throw exhausted() ?? new Error("Cannot go on: every attempt asked for another");
    if (pause !== undefined) await sleep(pause.timer, pause.ms(attempt));
  }
}

const commitAttemptsMax = 4;

/**
 * Commits writes that rest on nothing stored and whose repetition changes nothing, and returns their results. They stay out of the
 * queue of decisions of a partition, in which a decision that waits for them may stand.
 */
export async function applyWrites(
  store: Store,
  partition: Partition,
  writes: readonly Write[],
): Promise<readonly (number | string | null)[]> {
  if (writes.length === 0) return [];
  const commit = await retry(() => store.commit(partition, { writes }), {
    attemptsMax: commitAttemptsMax,
    isRetryable: isOutcomeUnknown,
  });
  return commit.ok ? commit.results : [];
}

export function sleep(timer: Timer, ms: number): Promise<void> {
  return new Promise(resolve => {
    timer(resolve, ms);
  });
}

const attemptsMax = 3;

interface DeliveryOptions<T> {
  /** Writes the items of a batch; repeating it must change nothing. */
  readonly write: (key: string, batch: readonly T[]) => Promise<unknown>;
  /** Called with the error of a batch whose last attempt failed. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most items of a batch. @default no bound */
  readonly batchMax?: number | undefined;
  /** Most items that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number | undefined;
}

interface Waiting<T> {
  readonly item: T;
  readonly done: (isDelivered: boolean) => void;
}

/**
 * Writes in the background what follows from records elsewhere, many items of a key at a time. A batch that fails is tried again; then it
 * is given up, as the records have it still and the sender delivers it later.
 */
export class Delivery<T> {
  readonly #batches: Batcher<Waiting<T>>;
  readonly #waitingMax: number;
  #waiting = 0;

  constructor({ write, onGivenUp, batchMax, waitingMax = 100_000 }: DeliveryOptions<T>) {
    this.#waitingMax = waitingMax;
    this.#batches = new Batcher<Waiting<T>>({
      batchMax,
      async run(key, batch) {
        const items = batch.map(({ item }) => item);
        const written = async () => {
          await write(key, items);
          return true;
        };
        const isDelivered = await retry(written, { attemptsMax, isRetryable: () => true }).catch(error => {
          onGivenUp(error);
          return false;
        });
        for (const { done } of batch) done(isDelivered);
      },
    });
  }

  /** Delivers items under their keys; calls `done` once, when all of them are written or some are given up. */
  deliver(items: readonly (readonly [key: string, item: T])[], done: (isDelivered: boolean) => void): void {
    if (items.length === 0) return;
    if (this.#waiting + items.length > this.#waitingMax) {
      done(false);
      return;
    }
    this.#waiting += items.length;
    let open = items.length;
    let areDelivered = true;
    const itemDone = (isDelivered: boolean): void => {
      this.#waiting -= 1;
      open -= 1;
      areDelivered &&= isDelivered;
      if (open === 0) done(areDelivered);
    };
    for (const [key, item] of items) this.#batches.push(key, { item, done: itemDone });
  }

  async idle(): Promise<void> {
    while (this.#waiting > 0) await this.#batches.idle();
  }
}

const followsMax = 16;

/** An entry that has another score than the one that was written. */
interface FollowingEntry<S extends { readonly score: number }> {
  readonly shown: number;
  /** Reads the score that the record has now; null where the entry is left as it is. */
  readonly read: () => Promise<S | null>;
  /** Removes the entry and writes it anew in one commit, so that its version is forgotten. Returns the score that it then has. */
  readonly overwrite: (score: S) => Promise<number | null>;
}

/**
 * Gives an entry the score of its record where it has another one. What is overwritten meanwhile was on record before it was written,
 * so the record is read again after every write, until it has what was written.
 *
 * @throws {AppError} `busy`: the record keeps changing.
 */
export async function followRecord<S extends { readonly score: number }>({
  shown: before,
  read,
  overwrite,
}: FollowingEntry<S>): Promise<void> {
  let shown: number | null = before;
  const message = "Cannot write the score on record as that keeps changing";
  const exhausted = () => new AppError("busy", message, { retryAfterMs: 1_000 });
  await retry(
    async () => {
      const recorded = await read();
      if (recorded === null || recorded.score === shown) return true;
      shown = await overwrite(recorded);
      return undefined;
    },
    { attemptsMax: followsMax, exhausted },
  );
}
