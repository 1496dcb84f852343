/**
 * A bounded cache of loaded values that are never older than a given age.
 *
 * A value that is young enough is returned as it is, without a promise, so that hot paths need no microtask.
 * Racing callers share one load. When a reload finds the same version, the old object stays: whoever compiled
 * something from it (and keyed that by the object) need not compile again.
 *
 * @module
 */

/** A value with the version of the record that it was made from; null where there is no such record. */
export interface Versioned<T> {
  readonly version: string | null;
  readonly value: T;
}

/** What a cache needs. */
export interface FreshCacheOptions {
  /** Unix ms. */
  readonly clock: () => number;
  /** Age from which a value is loaded again. */
  readonly ageMsMax: number;
  /** Number of values kept; the oldest loaded is dropped first. */
  readonly entriesMax: number;
}

interface Slot<T> {
  readonly loadedAt: number;
  readonly loaded: Versioned<T>;
}

/** Caches what `load` finds by key. */
export class FreshCache<T> {
  readonly #options: FreshCacheOptions;
  readonly #load: (key: string) => Promise<Versioned<T>>;
  readonly #slots = new Map<string, Slot<T>>();
  readonly #loading = new Map<string, Promise<T>>();

  constructor(load: (key: string) => Promise<Versioned<T>>, options: FreshCacheOptions) {
    this.#load = load;
    this.#options = options;
  }

  /** The value of the key, at most `ageMsMax` old at `now`. */
  get(key: string, now: number = this.#options.clock()): T | Promise<T> {
    const slot = this.#slots.get(key);
    if (slot !== undefined && now - slot.loadedAt < this.#options.ageMsMax) {
      return slot.loaded.value;
    }
    return this.#loading.get(key) ?? this.#reload(key, slot);
  }

  /** Forgets the key, so that the next `get` loads it. */
  forget(key: string): void {
    this.#slots.delete(key);
    this.#loading.delete(key);
  }

  #reload(key: string, old: Slot<T> | undefined): Promise<T> {
    const startedAt = this.#options.clock();
    const loading = this.#load(key)
      .then(loaded => {
        const same = old !== undefined && old.loaded.version === loaded.version;
        const kept = same ? old.loaded : loaded;
        if (this.#loading.get(key) === loading) this.#keep(key, { loadedAt: startedAt, loaded: kept });
        return kept.value;
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key);
      });
    this.#loading.set(key, loading);
    return loading;
  }

  #keep(key: string, slot: Slot<T>): void {
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    if (this.#slots.size <= this.#options.entriesMax) return;
    const [oldest] = this.#slots.keys();
    if (oldest !== undefined) this.#slots.delete(oldest);
  }
}
