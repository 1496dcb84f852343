/** A map that drops its oldest entry where it would grow over its bound. */
export class BoundedCache<K, V> {
  readonly #entriesMax: number;
  readonly #entries = new Map<K, V>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, or undefined. */
  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Keeps a value. */
  set(key: K, value: V): void {
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
