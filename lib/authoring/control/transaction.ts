/**
 * The one way in which the control API reads and changes a partition: a transaction, in which rules run as if the partition were in
 * memory.
 *
 * A rule asks for records by key. Keys that are not loaded yet make it stop; they are read together, and it runs again. When
 * nothing is missing, its writes are committed together with checks of the records that it read. After a lost check all of
 * this repeats with fresh records. A rule must be pure therefore.
 */

import { AppError } from "../../base/errors/mod.ts";
import { bytesPerUnitMax, utf8Length } from "../../base/text/mod.ts";
import { memoize, ParsedRecords, retry } from "../../storage/background/mod.ts";
import { readMany } from "../../storage/board_pages.ts";
import { type ReadRecord, type Store, type Stored, storageLimits, type Write } from "../../storage/mod.ts";

/** Most rounds of reading that a rule may need, and most attempts to commit. */
const roundsMax = 24;
const attemptsMax = 20;

/** Records that are kept parsed, and the length up to which one is: with most records about 100 MB of memory. */
const parsedMax = 4_096;
const parsedUnitsMax = 8_192;

/** Parsed records of a store. What is shown of a record that has not changed is found by its object, which stays the same. */
const parsedOf = memoize((_: Store) => new ParsedRecords<unknown>(JSON.parse, parsedMax));

/** A check that a record is as it was read. */
interface RecordCheck {
  readonly key: string;
  readonly version: string | null;
}

/** A record that a rule got. */
interface Got {
  readonly key: string;
  readonly isGuarded: boolean;
  readonly value: unknown;
}

/** What a function made of records, and which they were. */
export interface Derived<T> {
  readonly made: T;
  readonly from: readonly Got[];
}

/** Thrown by a transaction for what is not loaded. */
class NotLoaded extends Error {}
/** Thrown by a transaction whose records, read one after another, do not belong together. */
class ReadAgain extends Error {}

/** A partition as one request sees it. */
export class Transaction {
  readonly #stored: ReadonlyMap<string, Stored | null>;
  readonly #parse: (key: string, stored: Stored) => unknown;
  readonly #parsed = new Map<string, unknown>();
  readonly #put = new Map<string, unknown>();
  readonly #checked = new Set<string>();
  readonly #guarded = new Set<string>();
  readonly #effects: Write[] = [];
  readonly #once = new Set<string>();
  #noted: Got[] | null = null;
  /** Keys that a rule asked for and that have to be read. */
  readonly missing = new Set<string>();
  readonly awaited: Promise<unknown>[] = [];

  constructor(stored: ReadonlyMap<string, Stored | null>, parse: (key: string, stored: Stored) => unknown) {
    this.#stored = stored;
    this.#parse = parse;
  }

  /**
   * Returns a record, or null if it is absent. The commit checks that it is unchanged, unless `isGuarded` says that another
   * record which the rule reads changes with it.
   */
  get<T>(key: string, { isGuarded = false }: { readonly isGuarded?: boolean } = {}): T | null {
    (isGuarded ? this.#guarded : this.#checked).add(key);
    const value = this.#valueOf(key);
    this.#noted?.push({ key, isGuarded, value });
    return value as T | null;
  }

  /** Calls a function that depends on the records that it gets, and on nothing else that changes. */
  derive<T>(make: () => T): Derived<T> {
    const from: Got[] = [];
    this.#noted = from;
    try {
      return { made: make(), from };
    } finally {
      this.#noted = null;
    }
  }

  /** True if a function would get the same records again. They count as got. */
  isCurrent({ from }: Derived<unknown>): boolean {
    return from.every(({ key, isGuarded, value }) => this.get(key, { isGuarded }) === value);
  }

  #valueOf(key: string): unknown {
    if (this.#put.has(key)) return this.#put.get(key);
    if (this.#parsed.has(key)) return this.#parsed.get(key);
    const stored = this.#stored.get(key);
    if (stored === undefined) {
      this.missing.add(key);
      throw new NotLoaded(`Cannot use ${key} before it is read`);
    }
    const value = stored === null ? null : this.#parse(key, stored);
    this.#parsed.set(key, value);
    return value;
  }

  /** Says that a record will be asked for, so that it is read with the next ones. */
  want(key: string, { isGuarded = false }: { readonly isGuarded?: boolean } = {}): void {
    if (isGuarded) this.#guarded.add(key);
    if (!this.#stored.has(key)) this.missing.add(key);
  }

  /** Makes the rule start over once something is loaded that never changes. */
  waitFor(loading: Promise<unknown>): never {
    this.awaited.push(loading);
    throw new NotLoaded("Cannot go on before it is loaded");
  }

  /** Makes the rule start over with fresh records, as a record names another one that is gone by now. */
  readAgain(): never {
    throw new ReadAgain("Cannot use records that do not belong together");
  }

  /** True for a record that another one guards and that nothing else checks. */
  isGuarded(key: string): boolean {
    return this.#guarded.has(key) && !this.#checked.has(key);
  }

  /** The records as they were read, without those that others guard. */
  get unguarded(): ReadonlyMap<string, Stored | null> {
    return new Map([...this.#stored].filter(([key]) => !this.isGuarded(key)));
  }

  /** Creates or replaces a record; null removes it. */
  put(key: string, value: unknown): void {
    this.#put.set(key, value);
  }

  /** Adds a write of another shape: a score, a count, an entry of a log. */
  effect(write: Write): void {
    this.#effects.push(write);
  }

  /** Adds a write that several steps may ask for. */
  effectOnce(write: Write): void {
    const text = JSON.stringify(write);
    if (this.#once.has(text)) return;
    this.#once.add(text);
    this.effect(write);
  }

  /** True if the rule has changed nothing. */
  get isUnchanged(): boolean {
    return this.#put.size === 0 && this.#effects.length === 0;
  }

  batch(): { readonly checks: readonly RecordCheck[]; readonly writes: readonly Write[] } {
    const puts = [...this.#put].map(
      ([key, value]): Write =>
        value === null
          ? { type: "delete", shape: "record", key }
          : { type: "put", key, value: JSON.stringify(value) },
    );
    const checks = [...this.#checked].map(key => ({ key, version: this.#stored.get(key)?.version ?? null }));
    return { checks, writes: [...puts, ...this.#effects] };
  }
}

interface TransactionRule<A> {
  /** Keys that it surely needs. */
  readonly keys: readonly string[];
  readonly steps: readonly ((tx: Transaction) => A)[];
  /** True if nothing is to be written. @default false */
  readonly isDry?: boolean;
}

/**
 * Runs a rule on a partition and commits its writes. Returns the answers of its steps.
 *
 * @throws {AppError} What the first failing step throws; faults of several steps are reported together. `payload_too_large`: more than
 * one commit can hold. `conflict`: others changed the records at every attempt.
 */
export async function runTransaction<A>(
  store: Store,
  partition: string,
  rule: TransactionRule<A>,
): Promise<readonly A[]> {
  const keys = new Set(rule.keys);
  async function attempt(): Promise<readonly A[] | undefined> {
    const { tx, answers } = await applied(store, partition, rule, keys);
    if (rule.isDry === true || tx.isUnchanged) {
      // What one read answers is from one instant.
      const isCurrent = keys.size <= storageLimits.readsMax || (await areCurrent(store, partition, tx));
      return isCurrent ? answers : undefined;
    }
    const { checks, writes } = tx.batch();
    requireOneCommit(checks.length, writes);
    const commit = await store.commit(partition, { checks, writes });
    if (commit.ok) return answers;
    if (commit.because === "guard")
      throw new AppError("conflict", "Cannot make the change as a bound is reached");
    return undefined;
  }
  const message = "Cannot make the change now as others change the same records: try again";
  return await retry(attempt, { attemptsMax, exhausted: () => new AppError("conflict", message) });
}

/** Reads and runs until no record is missing. `keys` grows by those that were asked for. */
async function applied<A>(store: Store, partition: string, { steps }: TransactionRule<A>, keys: Set<string>) {
  const parsed = parsedOf(store);
  const parse = (key: string, stored: Stored): unknown =>
    stored.value.length > parsedUnitsMax
      ? JSON.parse(stored.value)
      : parsed.of(`${partition} ${key}`, stored);
  let former: Transaction | null = null;
  for (let round = 0; round < roundsMax; round++) {
    const tx: Transaction = new Transaction(await load(store, partition, keys, former), parse);
    const answers: A[] = [];
    const failures: AppError[] = [];
    let isOutdated = false;
    for (const step of steps) {
      try {
        answers.push(step(tx));
      } catch (error) {
        if (error instanceof AppError) failures.push(error);
        else if (error instanceof ReadAgain) isOutdated = true;
        else if (!(error instanceof NotLoaded)) throw error;
      }
    }
    await Promise.all(tx.awaited);
    if (tx.missing.size === 0 && tx.awaited.length === 0 && !isOutdated) {
      if (failures.length > 0) throw together(failures);
      return { tx, answers };
    }
    for (const key of tx.missing) keys.add(key);
    former = isOutdated ? null : tx;
  }
  throw new Error(`Cannot run a rule that needs more than ${roundsMax} rounds of reading`);
}

/**
 * Reads the records of a round. What fits into one read is from one instant. Of more, those that others guard are read after their
 * guards, so that a check of a guard covers them; the rest is read once, as it is checked at the end.
 */
async function load(
  store: Store,
  partition: string,
  keys: ReadonlySet<string>,
  former: Transaction | null,
): Promise<ReadonlyMap<string, Stored | null>> {
  if (former === null || keys.size <= storageLimits.readsMax)
    return await readAll(store, partition, [...keys]);
  const kept = former.unguarded;
  const isGuarded = (key: string): boolean => former.isGuarded(key);
  const guards = [...keys].filter(key => !kept.has(key) && !isGuarded(key));
  const read = await readAll(store, partition, guards);
  const guarded = await readAll(store, partition, [...keys].filter(isGuarded));
  return new Map([...kept, ...read, ...guarded]);
}

async function readAll(
  store: Store,
  partition: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Stored | null>> {
  const queries = keys.map((key): ReadRecord => ({ type: "record", key }));
  const found = await readMany(store, partition, queries);
  return new Map(keys.map((key, index) => [key, found[index] ?? null]));
}

/** Returns true if the records have not changed since they were read. */
async function areCurrent(store: Store, partition: string, tx: Transaction): Promise<boolean> {
  const { checks } = tx.batch();
  const keys = checks.map(({ key }) => key);
  const stored = await readAll(store, partition, keys);
  return checks.every(({ key, version }) => (stored.get(key)?.version ?? null) === version);
}

const faultsMax = 100;

/** Makes one failure of several: all faults of bodies, else the first failure. */
export function together(failures: readonly AppError[]): AppError {
  const [first] = failures;
  if (first === undefined) throw new TypeError("Cannot report no failure");
  const alike = failures.filter(({ code, fields }) => code === first.code && fields !== undefined);
  if (alike.length < 2 || first.code !== "unprocessable") return first;
  const fields = alike.flatMap(failure => failure.fields ?? []).slice(0, faultsMax);
  return new AppError(first.code, first.message, { fields });
}

function requireOneCommit(checks: number, writes: readonly Write[]): void {
  const { checksMax, writesMax, commitBytesMax } = storageLimits;
  const values = writes.flatMap(write => ("value" in write ? [write.value] : []));
  const units = values.reduce((sum, { length }) => sum + length, 0);
  const isSmall =
    units * bytesPerUnitMax <= commitBytesMax ||
    values.reduce((sum, value) => sum + (utf8Length(value) ?? 0), 0) <= commitBytesMax;
  if (checks <= checksMax && writes.length <= writesMax && isSmall) return;
  throw new AppError("payload_too_large", "Cannot make so many changes at once: send them in smaller parts");
}
