/**
 * The effects of decided writes on the state read before them, for later decisions of the same batch.
 *
 * @module
 */
import type { Put, Read, ReadTally, Version, Write } from "./contract.ts";
import { CachedRecord } from "./record_cache.ts";

/** Result of a query that is unknown until the writes before it are committed. */
export const unknowable: unique symbol = Symbol("unknowable");

interface PendingTally {
  /** Set if the tally was deleted first, so that what was read no longer counts. */
  cleared: boolean;
  readonly added: Map<string, number>;
}

/** Writes that are decided but not committed. */
export class PendingWrites {
  readonly #records = new Map<string, Put | null>();
  readonly #tallies = new Map<string, PendingTally>();
  readonly #boards = new Set<string>();
  readonly #logs = new Set<string>();
  #version: Version | null = null;
  #versionAsked = false;

  /** Returns true if the writes may have changed the result of the query. */
  touches({ type, key }: Read): boolean {
    if (type === "record") return this.#records.has(key);
    if (type === "tally") return this.#tallies.has(key);
    return (type === "log" ? this.#logs : this.#boards).has(key);
  }

  /** Returns the result of the query after the writes, given the result before them, or {@linkcode unknowable}. */
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

  /** Adds a decided write. */
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

  /** Returns true if a rule has asked for the version of an uncommitted record since the last call. */
  takeVersionAsked(): boolean {
    const asked = this.#versionAsked;
    this.#versionAsked = false;
    return asked;
  }

  /** Sets the version that the records have from now on. */
  committed(version: Version): void {
    this.#version = version;
  }

  #record(key: string, base: unknown): unknown {
    const write = this.#records.get(key);
    if (write === undefined) return base;
    if (write === null) return null;
    // Only the store's clock knows if it has expired already.
    if (write.expireAt !== undefined) return unknowable;
    const version = (): Version => {
      this.#versionAsked ||= this.#version === null;
      return this.#version ?? "";
    };
    if (write instanceof CachedRecord) return write.asRead(version);
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

/**
 * The tallies whose guards refused an earlier commit, as read. Foresees which adds the store would refuse, so that sold-out
 * stock does not cost a commit each.
 */
export class TallyForecast {
  readonly #tallies = new Map<string, { fields: ReadonlySet<string>; sums: ReadonlyMap<string, number> }>();

  /** Adds the fields of a tally as read; a field without a sum is 0. */
  learn(key: string, fields: ReadonlySet<string>, sums: ReadonlyMap<string, number>): void {
    this.#tallies.set(key, { fields, sums });
  }

  /** Returns the first key whose bounds the writes would leave, or null if none does or the store must decide. */
  refusal(writes: readonly Write[], pending: PendingWrites): string | null {
    if (this.#tallies.size === 0) return null;
    const running = new Map<string, Map<string, number>>();
    for (const write of writes) {
      if (isOpaque(write)) return null;
      if (write.type !== "add") continue;
      if (!this.#tallies.get(write.key)?.fields.has(write.field)) return null;
      const sums = running.get(write.key) ?? this.#sums(write.key, pending);
      running.set(write.key, sums);
      const sum = (sums.get(write.field) ?? 0) + write.by;
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
      if (sum < min || sum > max || !Number.isSafeInteger(sum)) return write.key;
      sums.set(write.field, sum);
    }
    return null;
  }

  #sums(key: string, pending: PendingWrites): Map<string, number> {
    const sums = pending.view({ type: "tally", key }, this.#tallies.get(key)?.sums ?? new Map());
    return new Map(sums as ReadonlyMap<string, number>);
  }
}

/** Returns true if only the store knows what the write does to a guard: a tally begun anew, a sum of scores. */
function isOpaque(write: Write): boolean {
  return (
    (write.type === "delete" && write.shape === "tally") || (write.type === "score" && write.op === "add")
  );
}
