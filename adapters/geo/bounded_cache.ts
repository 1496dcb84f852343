/**
 * A map of bounded size in two generations: when the younger one is full, the older one is forgotten as a whole. What was
 * read or written since then stays. A `Map` that drops its oldest entry at every write costs a hundred times as much,
 * because it steps over what was deleted before.
 */
export class BoundedCache<K, V> {
  readonly #generationMax: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** At most `entriesMax` entries are kept. */
  constructor(entriesMax: number) {
    this.#generationMax = Math.floor(entriesMax / 2);
  }

  /** Number of entries. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The value of a key, or undefined. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** Keeps a value. */
  set(key: K, value: V): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
