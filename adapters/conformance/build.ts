/** Short builders for queries and writes, so that the cases read as sentences. */
import type {
  Add,
  Append,
  Batch,
  Commit,
  Delete,
  Put,
  ReadAround,
  ReadBefore,
  ReadBoard,
  ReadLog,
  ReadRecord,
  ReadStanding,
  ReadTally,
  Score,
  Store,
  Unscore,
  Write,
} from "../../lib/storage/contract.ts";
import { ConformanceError, show } from "./expect.ts";

/** The partition of tests that need only one. */
export const home = "conformance";

export function record(key: string): ReadRecord {
  return { type: "record", key };
}

/** Reads a tally: the named fields of it, or all. */
export function tally(key: string, fields?: readonly string[]): ReadTally {
  return fields === undefined ? { type: "tally", key } : { type: "tally", key, fields };
}

/** Reads up to 100 entries of a board, from the lowest. */
export function board(key: string, options: Partial<Omit<ReadBoard, "type" | "key">> = {}): ReadBoard {
  return { type: "board", key, limit: 100, ...options };
}

/** Reads entries around a member of a board. */
export function around(key: string, member: string, limit: number): ReadAround {
  return { type: "around", key, member, limit };
}

/** Reads the standing of a member of a board. */
export function standing(key: string, member: string, options: { position?: boolean } = {}): ReadStanding {
  return { type: "standing", key, member, ...options };
}

/** Reads the number of entries of a board before a score, or before a tie of it. */
export function before(
  key: string,
  score: number,
  point: { tie?: number; member?: string } = {},
): ReadBefore {
  return { type: "before", key, score, ...point };
}

/** Reads up to 100 entries of a log, from the oldest. */
export function log(key: string, options: Partial<Omit<ReadLog, "type" | "key">> = {}): ReadLog {
  return { type: "log", key, limit: 100, ...options };
}

/** Writes a record. */
export function put(key: string, value: string, expireAt?: number): Put {
  return expireAt === undefined ? { type: "put", key, value } : { type: "put", key, value, expireAt };
}

export function drop(shape: Delete["shape"], key: string): Delete {
  return { type: "delete", shape, key };
}

/** Adds to a field of a tally, within bounds. */
export function add(
  key: string,
  field: string,
  by: number,
  bounds: { min?: number; max?: number } = {},
): Add {
  return { type: "add", key, field, by, ...bounds };
}

/** Sets a score of a board, unless `options` name another operation. */
export function score(
  key: string,
  member: string,
  value: number,
  options: { op?: Score["op"]; tie?: number; asOf?: number } = {},
): Score {
  return { type: "score", op: "set", key, member, score: value, ...options };
}

/** Removes a member from a board. */
export function unscore(key: string, member: string): Unscore {
  return { type: "unscore", key, member };
}

/** Appends to a log, by default trimmed to its newest 1,000 entries. */
export function append(key: string, value: string, at: number, maxLength: number = 1_000): Append {
  return { type: "append", key, value, at, maxLength };
}

/** A commit that took effect. */
export type Done = Extract<Commit, { ok: true }>;

/** Commits to {@linkcode home} and expects success. */
export async function must(store: Store, ...writes: Write[]): Promise<Done> {
  return mustAt(store, home, { writes });
}

/** Commits and expects success. */
export async function mustAt(store: Store, partition: string, batch: Batch): Promise<Done> {
  const commit = await store.commit(partition, batch);
  if (commit.ok) return commit;
  throw new ConformanceError(`expected the commit to succeed, got ${show(commit)} for ${show(batch)}`);
}

/** Returns the members of a board range in the order read. */
export async function members(store: Store, query: ReadBoard): Promise<string[]> {
  const [range] = await store.read(home, [query]);
  return range.entries.map(({ member }) => member);
}

/** Returns the values of a log range in the order read. */
export async function values(store: Store, query: ReadLog): Promise<string[]> {
  const [entries] = await store.read(home, [query]);
  return entries.map(({ value }) => value);
}
