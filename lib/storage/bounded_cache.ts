/**
 * A map of bounded size in two generations: when the younger one is full, the elder one is forgotten as a whole. What was read
 * or written since then stays. A `Map` that drops its oldest entry at every write costs a hundred times as much, because it
 * steps over what was deleted before.
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

  /** Sets the value of a key. */
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
