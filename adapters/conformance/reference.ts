/**
 * The simplest implementation of the storage contract: copy the partition, apply, keep the copy on success.
 *
 * Random runs compare every implementation with this one. It is slow on purpose.
 */

import {
  type Batch,
  type BoardEntry,
  type Commit,
  type LogEntry,
  type Read,
  type ReadAround,
  type ReadBoard,
  type ReadLog,
  type Results,
  type Score,
  type Store,
  storageLimits,
  type Traits,
  type Write,
} from "../../lib/storage/contract.ts";
import { validateBatch, validateReads } from "../../lib/storage/validate.ts";

type StoredEntry = BoardEntry & { readonly asOf: number };
interface Partition {
  readonly records: Map<string, { value: string; version: string; expireAt: number }>;
  readonly tallies: Map<string, Map<string, number>>;
  readonly boards: Map<string, Map<string, StoredEntry>>;
  readonly logs: Map<string, { ms: number; seq: number; value: string }[]>;
}
const utf8 = new TextEncoder();

/** The reference implementation, synchronous and without argument checks. */
export class ReferenceModel {
  readonly #now: () => number;
  readonly #partitions = new Map<string, Partition>();
  /** The order of boards, which change only as copies. */
  readonly #ordered = new WeakMap<ReadonlyMap<string, StoredEntry>, readonly StoredEntry[]>();
  #version = 0;

  /** @param now The clock, Unix ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  read(partition: string, queries: readonly Read[]): unknown[] {
    const state = this.#state(partition);
    return queries.map(query => this.#answer(state, query));
  }

  commit(partition: string, { checks = [], writes }: Batch): Commit {
    const state = this.#state(partition);
    for (const check of checks) {
      const { key } = check;
      const holds =
        "absent" in check
          ? !state.tallies.get(key)?.has(check.absent)
          : (this.#record(state, key)?.version ?? null) === check.version;
      if (!holds) return { ok: false, because: "check", key };
    }
    const copy = structuredClone(state);
    const version = String(this.#version + 1);
    const results = [];
    for (const write of writes) {
      const result = apply(copy, write, version);
      if (result === undefined) return { ok: false, because: "guard", key: write.key };
      results.push(result);
    }
    this.#version += 1;
    this.#partitions.set(partition, copy);
    return { ok: true, version, results };
  }

  #state(partition: string): Partition {
    const empty = { records: new Map(), tallies: new Map(), boards: new Map(), logs: new Map() };
    return this.#partitions.get(partition) ?? empty;
  }

  #record(state: Partition, key: string): { value: string; version: string } | null {
    const found = state.records.get(key);
    return found === undefined || this.#now() >= found.expireAt
      ? null
      : { value: found.value, version: found.version };
  }

  #answer(state: Partition, query: Read): unknown {
    if (query.type === "record") return this.#record(state, query.key);
    if (query.type === "log") return logRange(state.logs.get(query.key) ?? [], query);
    if (query.type === "tally") {
      const all = [...(state.tallies.get(query.key) ?? [])];
      return new Map(all.filter(([field]) => query.fields === undefined || query.fields.includes(field)));
    }
    const ordered = this.#order(state.boards.get(query.key) ?? new Map());
    if (query.type === "board") return boardRange(ordered, query);
    if (query.type === "before") {
      const point = { tie: 0, member: "", ...query };
      return ordered.filter(entry => compare(entry, point) < 0).length;
    }
    if (query.type === "around") return boardWindow(ordered, query);
    const found = ordered.find(({ member }) => member === query.member);
    if (found === undefined) return null;
    const below = ordered.filter(other => other.score < found.score).length;
    const position = query.position === true ? { position: ordered.indexOf(found) } : {};
    return { score: found.score, tie: found.tie, below, ...position };
  }

  #order(members: ReadonlyMap<string, StoredEntry>): readonly StoredEntry[] {
    const ordered = this.#ordered.get(members) ?? [...members.values()].sort(compare);
    this.#ordered.set(members, ordered);
    return ordered;
  }
}

/** Applies one write and returns its result, or undefined if a guard refuses it. */
function apply(state: Partition, write: Write, version: string): number | string | null | undefined {
  switch (write.type) {
    case "put":
      state.records.set(write.key, {
        value: write.value,
        version,
        expireAt: write.expireAt ?? Number.POSITIVE_INFINITY,
      });
      return null;
    case "delete":
      ({ record: state.records, tally: state.tallies, board: state.boards, log: state.logs })[
        write.shape
      ].delete(write.key);
      return null;
    case "add": {
      const fields = entry(state.tallies, write.key, new Map<string, number>());
      const sum = (fields.get(write.field) ?? 0) + write.by;
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
      if (!Number.isSafeInteger(sum) || sum < min || sum > max) return undefined;
      fields.set(write.field, sum);
      if (fields.size > storageLimits.tallyFieldsMax)
        throw new RangeError("Cannot add to the tally: too many fields");
      return sum;
    }
    case "score":
      return applyScore(entry(state.boards, write.key, new Map<string, StoredEntry>()), write);
    case "unscore":
      state.boards.get(write.key)?.delete(write.member);
      return null;
    case "append": {
      const entries = entry(state.logs, write.key, []);
      const last = entries.at(-1) ?? { ms: -1, seq: 0 };
      const added = write.at > last.ms ? { ms: write.at, seq: 1 } : { ms: last.ms, seq: last.seq + 1 };
      entries.push({ ...added, value: write.value });
      entries.splice(0, Math.max(0, entries.length - write.maxLength));
      return `${added.ms}-${added.seq}`;
    }
  }
}

function applyScore(members: Map<string, StoredEntry>, write: Score): number | undefined {
  const { op, member, tie = 0, asOf } = write;
  const old = members.get(member);
  if (old !== undefined && asOf !== undefined && asOf <= old.asOf) return old.score;
  // Adding 0 turns -0 into 0.
  const given = write.score + 0;
  const wanted = {
    set: given,
    min: Math.min(old?.score ?? given, given),
    max: Math.max(old?.score ?? given, given),
    add: old === undefined ? given : added(old.score, given),
  }[op];
  if (old !== undefined && op === "add" && Math.abs(wanted) > Number.MAX_SAFE_INTEGER) return undefined;
  const storedTie = old !== undefined && old.score === wanted ? old.tie : tie;
  members.set(member, { member, score: wanted, tie: storedTie, asOf: asOf ?? old?.asOf ?? -1 });
  return wanted;
}

/** Adds as on paper: with as many digits behind the point as the larger number has room for. */
function added(a: number, b: number): number {
  const whole = Math.trunc(Math.max(Math.abs(a), Math.abs(b)));
  const digits = Math.min(9, Math.max(0, 15 - String(whole).length));
  return Number.isInteger(a + b) ? a + b : Number((a + b).toFixed(digits)) + 0;
}

function boardRange(ordered: readonly StoredEntry[], query: ReadBoard): unknown {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, offset = 0, limit } = query;
  const inside = ordered.filter(({ score }) => score >= min && score <= max);
  if (query.reverse) inside.reverse();
  const entries = inside
    .slice(offset, offset + limit)
    .map(({ member, score, tie }) => ({ member, score, tie }));
  return { entries, size: ordered.length };
}

function boardWindow(ordered: readonly StoredEntry[], { member, limit }: ReadAround): unknown {
  const own = ordered.findIndex(other => other.member === member);
  if (own === -1) return null;
  let [first, end] = [own, own + 1];
  // Behind and before by turns, while there are entries.
  while (end - first < Math.min(limit, ordered.length)) {
    const isBehind = end - own - 1 <= own - first;
    if (first === 0 || (isBehind && end < ordered.length)) end += 1;
    else first -= 1;
  }
  const below = ordered.filter(({ score }) => score < (ordered[first]?.score ?? 0)).length;
  return {
    ...(boardRange(ordered, { type: "board", key: "", offset: first, limit: end - first }) as object),
    offset: first,
    below,
  };
}

function logRange(all: readonly { ms: number; seq: number; value: string }[], query: ReadLog): LogEntry[] {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, cursor, reverse, limit } = query;
  const [ms = 0, seq = 0] = (cursor ?? "").split("-").map(Number);
  const inside = all.filter(entry => {
    const beyond = entry.ms - ms || entry.seq - seq;
    return (
      entry.ms >= from && entry.ms <= to && (cursor === undefined || (reverse ? beyond < 0 : beyond > 0))
    );
  });
  if (reverse) inside.reverse();
  return inside.slice(0, limit).map(({ ms, seq, value }) => ({ id: `${ms}-${seq}`, at: ms, value }));
}

function compare(a: BoardEntry, b: BoardEntry): number {
  if (a.score !== b.score) return a.score < b.score ? -1 : 1;
  return a.tie - b.tie || compareBytes(utf8.encode(a.member), utf8.encode(b.member));
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (const [index, byte] of a.entries()) {
    const difference = byte - (b[index] ?? -1);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function entry<T>(map: Map<string, T>, key: string, fresh: T): T {
  const value = map.get(key) ?? fresh;
  map.set(key, value);
  return value;
}

const traits: Traits = {
  durable: false,
  maxWrites: storageLimits.writesMax,
  maxValueBytes: storageLimits.valueBytesMax,
};

/** A {@linkcode Store} over a {@linkcode ReferenceModel}: for tests only, since each commit copies its partition. */
export class ReferenceStore implements Store {
  readonly traits: Traits = traits;
  readonly #model: ReferenceModel;

  constructor(model: ReferenceModel) {
    this.#model = model;
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    return this.#model.read(partition, queries) as Results<Q>;
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    return this.#model.commit(partition, batch);
  }

  async ping(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}
