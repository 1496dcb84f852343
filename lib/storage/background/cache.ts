/**
 * The cache of the platform: bounded, optionally by age, with one load at a time for a key.
 *
 * ```ts
 * const spaces = new Cache<Space>({ entriesMax: 10_000, maxAgeMs: 900, clock });
 * const space = await spaces.getOrLoad(id, loadSpace);
 * ```
 *
 * @module
 */

import { BoundedCache, type Stored } from "../mod.ts";

/** Bounds of a {@linkcode Cache}. */
export type CacheOptions = {
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

  /** Number of entries, fresh or not. */
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

  /** Number of records kept. */
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
