/** A bounded map that forgets what was not used for longest, half of it at a time. */
export class Generations<V> {
  readonly #entriesMax: number;
  #young = new Map<string, V>();
  #elder = new Map<string, V>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Number of entries. */
  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  /** The value under a name, which is thereby used. */
  get(name: string): V | undefined {
    const young = this.#young.get(name);
    if (young !== undefined) return young;
    const elder = this.#elder.get(name);
    if (elder !== undefined) this.set(name, elder);
    return elder;
  }

  /** Sets the value under a name. */
  set(name: string, value: V): void {
    if (!this.#young.has(name)) {
      this.#elder.delete(name);
      if (this.#young.size >= this.#entriesMax / 2) {
        this.#elder = this.#young;
        this.#young = new Map();
      }
    }
    this.#young.set(name, value);
  }

  /** Forgets a name. */
  delete(name: string): void {
    this.#young.delete(name);
    this.#elder.delete(name);
  }
}
