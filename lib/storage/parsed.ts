import { BoundedCache } from "./bounded_cache.ts";
import type { Stored } from "./contract.ts";

interface Entry<T> {
  readonly version: string;
  readonly value: T;
}

/**
 * Parsed records, kept for as long as the store answers the same version of them: hot records are parsed once, and what is
 * parsed from the same state is the same object. Of those unused for longest the older half is dropped at a time.
 */
export class ParsedRecords<T> {
  readonly #parse: (text: string) => T;
  readonly #entries: BoundedCache<Entry<T>>;

  /** @param entriesMax Most records that are kept. */
  constructor(parse: (text: string) => T, entriesMax: number) {
    this.#parse = parse;
    this.#entries = new BoundedCache(entriesMax);
  }

  /** Number of records kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the record as an object that nobody may change. `name` tells it from all others. */
  of(name: string, { version, value: text }: Stored): T {
    const known = this.#entries.get(name);
    if (known?.version === version) return known.value;
    const entry = { version, value: this.#parse(text) };
    this.#entries.set(name, entry);
    return entry.value;
  }
}
