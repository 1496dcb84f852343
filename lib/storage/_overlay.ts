/**
 * What the writes of a fold make of the state read before them, for the decisions that follow in the same fold.
 *
 * @module
 */
import { CachedPut, CachedRecord } from "./_held.ts";
import type { Put, Read, ReadTally, Version, Write } from "./contract.ts";

/** The result of a query that cannot be told until the writes before it are committed. */
export const unknowable: unique symbol = Symbol("unknowable");

interface PendingTally {
  /** Whether the tally was deleted first, so that what was read counts no more. */
  cleared: boolean;
  readonly added: Map<string, number>;
}

/** The effects of writes that are decided but not committed. */
export class PendingWrites {
  readonly #records = new Map<string, Put | null>();
  readonly #tallies = new Map<string, PendingTally>();
  readonly #boards = new Set<string>();
  readonly #logs = new Set<string>();
  #version: Version | null = null;
  #versionAsked = false;

  /** Whether the writes may have changed the result of the query. */
  touches({ type, key }: Read): boolean {
    if (type === "record") return this.#records.has(key);
    if (type === "tally") return this.#tallies.has(key);
    return (type === "log" ? this.#logs : this.#boards).has(key);
  }

  /** The result of the query after the writes, where `base` was read before them, or {@linkcode unknowable}. */
  view(query: Read, base: unknown): unknown {
    switch (query.type) {
      case "record":
        return this.#record(query.key, base);
      case "tally":
        return this.#tally(query, base as ReadonlyMap<string, number>);
      default:
        return this.touches(query) ? unknowable : base;
    }
  }

  /** Takes note of a decided write. */
  add(write: Write): void {
    switch (write.type) {
      case "put":
        this.#records.set(write.key, write);
        break;
      case "add": {
        const { added } = this.#pending(write.key);
        added.set(write.field, (added.get(write.field) ?? 0) + write.by);
        break;
      }
      case "score":
      case "unscore":
        this.#boards.add(write.key);
        break;
      case "append":
        this.#logs.add(write.key);
        break;
      case "delete":
        if (write.shape === "record") this.#records.set(write.key, null);
        else if (write.shape === "board") this.#boards.add(write.key);
        else if (write.shape === "log") this.#logs.add(write.key);
        else this.#tallies.set(write.key, { cleared: true, added: new Map() });
        break;
    }
  }

  /** Whether a rule asked for the version of an uncommitted record since the last call: nobody knows it yet. */
  takeVersionAsked(): boolean {
    const asked = this.#versionAsked;
    this.#versionAsked = false;
    return asked;
  }

  /** Tells the version that the records have from now on. */
  committed(version: Version): void {
    this.#version = version;
  }

  #record(key: string, base: unknown): unknown {
    const write = this.#records.get(key);
    if (write === undefined) return base;
    if (write === null) return null;
    // Whether it has expired already is for the store's clock to say.
    if (write.expireAt !== undefined) return unknowable;
    const version = (): Version => {
      this.#versionAsked ||= this.#version === null;
      return this.#version ?? "";
    };
    if (write instanceof CachedPut) return new CachedRecord(write.held, version);
    return {
      value: write.value,
      get version(): Version {
        return version();
      },
    };
  }

  #tally(query: ReadTally, base: ReadonlyMap<string, number>): unknown {
    const pending = this.#tallies.get(query.key);
    if (pending === undefined) return base;
    const { cleared, added } = pending;
    const sums = new Map(cleared ? [] : base);
    for (const [field, by] of added) {
      if (query.fields === undefined || query.fields.includes(field))
        sums.set(field, (sums.get(field) ?? 0) + by);
    }
    return sums;
  }

  #pending(key: string): PendingTally {
    let pending = this.#tallies.get(key);
    if (pending === undefined) {
      pending = { cleared: false, added: new Map() };
      this.#tallies.set(key, pending);
    }
    return pending;
  }
}
