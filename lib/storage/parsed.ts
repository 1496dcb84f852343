import type { Stored } from "./contract.ts";

interface Entry<T> {
  readonly version: string;
  readonly value: T;
}

/**
 * Parsed records, kept for as long as the store answers the same version of them: hot records are parsed once, and what is
 * parsed from the same state is the same object. Of those unused for longest the older half is dropped at a time.
 */
export class Parsed<T> {
  readonly #parse: (text: string) => T;
  readonly #entriesMax: number;
  #young = new Map<string, Entry<T>>();
  #elder = new Map<string, Entry<T>>();

  /** @param entriesMax Most records that are kept. */
  constructor(parse: (text: string) => T, entriesMax: number) {
    this.#parse = parse;
    this.#entriesMax = entriesMax;
  }

  /** Number of records kept. */
  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  /** The record as an object that nobody may change. `name` tells it from all others. */
  of(name: string, { version, value: text }: Stored): T {
    const young = this.#young.get(name);
    if (young?.version === version) return young.value;
    const elder = this.#elder.get(name);
    const entry = elder?.version === version ? elder : { version, value: this.#parse(text) };
    this.#elder.delete(name);
    if (this.#young.size >= this.#entriesMax / 2) {
      this.#elder = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, entry);
    return entry.value;
  }
}
