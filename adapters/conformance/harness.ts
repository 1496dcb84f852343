/** Interfaces of the test runner and of the implementation under test. */

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

/** The two functions of a test runner, as `node:test`, Vitest, Jest, Mocha, Bun and `@std/testing/bdd` have them. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** A clock that moves only by `advance`. */
export interface TestClock {
  /** Unix ms. */
  now(): number;
  /** Moves the clock forward. */
  advance(ms: number): void;
}

export interface Fixture {
  /** Releases the resources of the fixture; runs after each test. */
  dispose(): Promise<void> | void;
}

export interface Suite<F extends Fixture> extends Runner {
  /** Creates a subject that no other test sees. */
  factory(): Promise<F> | F;
}

/** A store that no other test has touched. */
export interface StoreFixture extends Fixture {
  readonly store: Store;
  readonly clock: TestClock;
  /** Another handle on the same data, for example a second client. @default the store itself */
  readonly peer?: Store;
}

export type StoreCase = Required<StoreFixture>;

export type Cases<T> = Readonly<Record<string, (fixture: T) => Promise<void>>>;

/** Registers the cases with the runner. Each gets a new fixture, which is disposed even if the case fails. */
export function register<T extends Fixture>(
  runner: Runner,
  cases: Cases<T>,
  factory: () => Promise<T> | T,
): void {
  for (const [name, body] of Object.entries(cases)) {
    runner.it(name, async () => {
      const fixture = await factory();
      try {
        await body(fixture);
      } finally {
        await fixture.dispose();
      }
    });
  }
}

/** Assertions without a test runner. */

/** A promise of the contract that an implementation broke. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";
}

/**
 * Compares two values deeply: primitives as `Object.is` does, maps without regard to order, objects by own keys.
 *
 * @throws {ConformanceError} They differ; the message shows both.
 */
export function equal(actual: unknown, expected: unknown, about: string = ""): void {
  if (same(actual, expected)) return;
  const topic = about === "" ? "" : `${about}: `;
  throw new ConformanceError(`${topic}expected ${show(expected)}, got ${show(actual)}`);
}

/** @throws {ConformanceError} The condition is false. */
export function ok(condition: boolean, about: string): asserts condition {
  if (!condition) throw new ConformanceError(about);
}

/**
 * Expects the action to throw or reject with an instance of one of the classes, and returns that error.
 *
 * @throws {ConformanceError} It does not.
 */
export async function rejects(
  action: () => Promise<unknown>,
  classes: readonly (new (...args: never[]) => Error)[],
  about: string,
): Promise<Error> {
  const expected = classes.map(({ name }) => name).join(" or ");
  try {
    await action();
  } catch (error) {
    for (const candidate of classes) if (error instanceof candidate) return error;
    throw new ConformanceError(`${about}: expected a ${expected}, got ${String(error)}`, { cause: error });
  }
  throw new ConformanceError(`${about}: expected a ${expected}, but it succeeded`);
}

export function show(value: unknown): string {
  const text = JSON.stringify(value, replacer) ?? String(value);
  return text.length <= 600 ? text : `${text.slice(0, 600)}… (${text.length} characters)`;
}

function replacer(_key: string, value: unknown): unknown {
  if (value instanceof Map) return { map: [...value] };
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Map || b instanceof Map) return a instanceof Map && b instanceof Map && sameMap(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  if (left.length !== Object.keys(b).length) return false;
  const right = new Map<string, unknown>(Object.entries(b));
  return left.every(([key, value]) => right.has(key) && same(value, right.get(key)));
}

function sameMap(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && same(value, b.get(key)));
}

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

export function around(key: string, member: string, limit: number): ReadAround {
  return { type: "around", key, member, limit };
}

export function standing(key: string, member: string, options: { position?: boolean } = {}): ReadStanding {
  return { type: "standing", key, member, ...options };
}

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

export function put(key: string, value: string, expireAt?: number): Put {
  return expireAt === undefined ? { type: "put", key, value } : { type: "put", key, value, expireAt };
}

export function drop(shape: Delete["shape"], key: string): Delete {
  return { type: "delete", shape, key };
}

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

export function unscore(key: string, member: string): Unscore {
  return { type: "unscore", key, member };
}

/** Appends to a log, by default trimmed to its newest 1,000 entries. */
export function append(key: string, value: string, at: number, maxLength: number = 1_000): Append {
  return { type: "append", key, value, at, maxLength };
}

export type Done = Extract<Commit, { ok: true }>;

export async function must(store: Store, ...writes: Write[]): Promise<Done> {
  return mustAt(store, home, { writes });
}

export async function mustAt(store: Store, partition: string, batch: Batch): Promise<Done> {
  const commit = await store.commit(partition, batch);
  if (commit.ok) return commit;
  throw new ConformanceError(`expected the commit to succeed, got ${show(commit)} for ${show(batch)}`);
}

export async function members(store: Store, query: ReadBoard): Promise<string[]> {
  const [range] = await store.read(home, [query]);
  return range.entries.map(({ member }) => member);
}

export async function values(store: Store, query: ReadLog): Promise<string[]> {
  const [entries] = await store.read(home, [query]);
  return entries.map(({ value }) => value);
}
