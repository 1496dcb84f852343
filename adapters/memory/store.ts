import { AppError } from "../../lib/base/errors/mod.ts";
import { addDecimals } from "../../lib/base/text/mod.ts";
import {
  type Add,
  type Append,
  type Batch,
  type Commit,
  type Delete,
  type Partition,
  type Put,
  type Read,
  type Results,
  type Score,
  type Store,
  storageLimits,
  type Traits,
  type Unscore,
  type Write,
} from "../../lib/storage/contract.ts";
import type { PartitionLister, PartitionQuery } from "../../lib/storage/ports.ts";
import { validateBatch, validateReads } from "../../lib/storage/validate.ts";
import type { Board, BoardRow } from "./board/board.ts";
import { noAsOf } from "./board/member_table.ts";
import {
  type Effect,
  type Journal,
  type JournalClient,
  replayFrame,
  snapshotFrames,
  writeFrame,
} from "./frames.ts";
import {
  answer,
  Log,
  type LogItem,
  liveRecord,
  type PartitionState,
  State,
  type StoredRecord,
  type Tally,
} from "./state.ts";

/** Options of the memory store. */
export interface MemoryStoreOptions {
  /** The time in Unix ms, by which records expire. @default Date.now */
  readonly clock?: () => number;
  /** Keeps the commits beyond the end of the process. @default nothing is kept */
  readonly journal?: Journal;
  /** A 32-bit integer that decides where members lie in tables, unknown to clients. @default a random one */
  readonly seed?: number;
}

const commitsPerMs = 1_000;

/**
 * Creates a store that lives in this process: the whole contract, at the speed of its data structures, and for as long
 * as the process lives unless a journal is given. Two stores never share anything.
 *
 * With a durable journal a commit is acknowledged once it is kept, and what a read shows is kept as well. A commit that
 * the journal loses is undone before it is reported, so memory and journal never differ.
 *
 * ```ts
 * const store = createMemoryStore();
 * await store.commit("shop", { writes: [{ type: "add", key: "stock", field: "cap", by: 3 }] });
 * const [stock] = await store.read("shop", [{ type: "tally", key: "stock" }]);
 * ```
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store & PartitionLister {
  return new MemoryStore(options);
}

const listedPartitionsMax = 1_000;

class MemoryStore implements Store, PartitionLister {
  readonly traits: Traits;
  readonly #clock: () => number;
  readonly #state: State;
  readonly #journal: Journal | undefined;
  /** Commits that are applied but not settled, oldest first. */
  readonly #unsettled: Set<CommitChange> = new Set();
  /** The settlement of the last commit of a partition, where reads have to wait for it. */
  readonly #settlements: Map<Partition, Promise<void>> = new Map();
  #opening: Promise<void> | undefined;
  #closed = false;

  constructor({ clock = Date.now, journal, seed = randomSeed() }: MemoryStoreOptions) {
    this.traits = {
      durable: journal?.durable ?? false,
      maxWrites: storageLimits.writesMax,
      maxValueBytes: storageLimits.valueBytesMax,
    };
    this.#clock = clock;
    // Counting from the time on, versions differ from those of an earlier store of which clients may still hold some.
    this.#state = new State(Math.max(0, Math.floor(clock())) * commitsPerMs, seed);
    this.#journal = journal;
    if (journal !== undefined) this.#open(journal);
  }

  async read<const Q extends readonly Read[]>(partition: Partition, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    if (this.#opening !== undefined) await this.#opening;
    this.#requireOpen();
    const space = this.#state.find(partition);
    const now = this.#clock();
    const results: unknown[] = [];
    for (const query of queries) results.push(answer(space, query, now));
    const settlement = this.#settlements.get(partition);
    if (settlement !== undefined) await settlement;
    return results as unknown as Results<Q>;
  }

  async commit(partition: Partition, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    if (this.#opening !== undefined) await this.#opening;
    this.#requireOpen();
    // From here to the journal nothing awaits: this is what makes a commit atomic.
    const now = this.#clock();
    const space = this.#state.find(partition);
    const fault = faultyCheck(space, batch, now);
    if (fault !== undefined) return this.#refusal(partition, "check", fault);
    const number = this.#state.counter + 1;
    const version = number.toString(36);
    const isKept = this.#journal !== undefined;
    const change = new CommitChange({ state: this.#state, partition, space, version, isKept });
    const guarded = change.apply(batch.writes);
    if (guarded !== undefined) return this.#refusal(partition, "guard", guarded);
    this.#state.counter = number;
    const settlement = this.#keep(partition, number, change);
    this.#state.sweep(now, batch.writes.length);
    if (settlement !== undefined) await settlement;
    return { ok: true, version: change.version, results: change.results };
  }

  lastChange(partition: Partition): number | undefined {
    // A read would wait, or fail.
    if (this.#opening !== undefined || this.#closed || this.#settlements.has(partition)) return undefined;
    return this.#state.find(partition)?.lastChange;
  }

  async *partitions({ prefix, record }: PartitionQuery): AsyncGenerator<readonly Partition[], void> {
    await this.#opening;
    this.#requireOpen();
    const now = this.#clock();
    let group: Partition[] = [];
    for (const [partition, space] of this.#state.partitions()) {
      if (!partition.startsWith(prefix) || liveRecord(space, record, now) === undefined) continue;
      group.push(partition);
      if (group.length < listedPartitionsMax) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }

  readonly now = (): number => this.#clock();

  async ping(): Promise<void> {
    await this.#opening;
    this.#requireOpen();
    await this.#journal?.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#opening?.catch(() => {});
    await this.#journal?.close();
  }

  #open(journal: Journal): void {
    const client: JournalClient = {
      apply: frame => replayFrame(this.#state, frame),
      snapshot: () => snapshotFrames(this.#state),
    };
    this.#opening = journal.open(client).then(() => {
      this.#opening = undefined;
    });
    // Every call on the store reports the failure, so the promise itself needs no handler.
    this.#opening.catch(() => {});
  }

  #requireOpen(): void {
    if (this.#closed) throw new AppError("storage_unavailable", "Cannot use the store: it is closed");
  }

  async #refusal(partition: Partition, because: "check" | "guard", key: string): Promise<Commit> {
    // The refusal may be due to a commit that is not settled yet.
    await this.#settlements.get(partition);
    return { ok: false, because, key };
  }

  /** Hands a commit to the journal; returns what to wait for before it may be acknowledged. */
  #keep(partition: Partition, number: number, change: CommitChange): Promise<void> | undefined {
    const journal = this.#journal;
    if (journal === undefined || change.effects.length === 0) return this.#settlements.get(partition);
    const settlement = new Promise<void>((resolve, reject) => {
      journal.append(writeFrame(number, partition, change.effects), failure => {
        if (this.#settlements.get(partition) === settlement) this.#settlements.delete(partition);
        if (failure === undefined) {
          this.#unsettled.delete(change);
          resolve();
        } else {
          this.#takeBack();
          reject(failure);
        }
      });
      this.#unsettled.add(change);
    });
    if (!this.#unsettled.has(change)) change.undo();
    else if (journal.durable) this.#settlements.set(partition, settlement);
    return settlement;
  }

  /** Undoes every commit that is not settled: the journal has lost the oldest of them, and with it all others. */
  #takeBack(): void {
    for (const change of [...this.#unsettled].reverse()) change.undo();
    this.#unsettled.clear();
  }
}

function faultyCheck(
  space: PartitionState | undefined,
  { checks = [] }: Batch,
  now: number,
): string | undefined {
  for (const check of checks) {
    const { key } = check;
    const holds =
      "absent" in check
        ? space?.get("tally", key)?.has(check.absent) !== true
        : (liveRecord(space, key, now)?.version ?? null) === check.version;
    if (!holds) return key;
  }
  return undefined;
}

function randomSeed(): number {
  return crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
}

type Answer = number | string | null | typeof refused;

const refused: unique symbol = Symbol("refused");

interface CommitChangeOptions {
  readonly state: State;
  readonly partition: string;
  /** The partition where it has been found. @default it is looked up, or made */
  readonly space?: PartitionState | undefined;
  readonly version: string;
  /** True if there is a journal, which needs the effects and may lose the commit after it was applied. */
  readonly isKept: boolean;
}

/** One commit: applies its writes, and can undo them as long as a journal may lose it. */
export class CommitChange {
  readonly results: (number | string | null)[] = [];
  /** Effects for the journal; empty if nothing changed or there is no journal. */
  readonly effects: Effect[] = [];
  readonly version: string;
  readonly #state: State;
  readonly #partition: string;
  readonly #space: PartitionState;
  readonly #isKept: boolean;
  readonly #undos: (() => void)[] = [];
  /** True if the current write may have to be undone. */
  #isUndoable: boolean;

  constructor({ state, partition, space, version, isKept }: CommitChangeOptions) {
    this.#state = state;
    this.#partition = partition;
    this.#space = space ?? state.open(partition);
    this.version = version;
    this.#isKept = isKept;
    this.#isUndoable = isKept;
  }

  /**
   * Applies the writes; returns the key at fault, with nothing changed, where a guard refuses one.
   *
   * @throws RangeError with nothing changed, where a tally would have too many fields
   */
  apply(writes: Batch["writes"]): string | undefined {
    this.#state.note(this.#space);
    const lastFallible = this.#isKept ? writes.length : writes.findLastIndex(isFallible);
    try {
      let index = 0;
      for (const write of writes) {
        this.#isUndoable = index++ < lastFallible;
        const answer = this.#write(write);
        if (answer === refused) {
          this.undo();
          return write.key;
        }
        this.results.push(answer);
      }
    } catch (error) {
      this.undo();
      throw error;
    }
    if (this.#space.empty) this.#state.prune(this.#partition);
    return undefined;
  }

  /** Undoes the commit. All commits after it must have been undone before. */
  undo(): void {
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) undo();
    this.#state.note(this.#state.open(this.#partition));
    this.#state.prune(this.#partition);
  }

  #write(write: Write): Answer {
    switch (write.type) {
      case "put":
        return this.#put(write);
      case "delete":
        return this.#delete(write);
      case "add":
        return this.#add(write);
      case "score":
        return this.#score(write);
      case "unscore":
        return this.#unscore(write);
      case "append":
        return this.#append(write);
    }
  }

  #put({ key, value, expireAt }: Put): Answer {
    const space = this.#space;
    const before = space.get("record", key);
    const until = expireAt ?? Number.POSITIVE_INFINITY;
    const { version } = this;
    // Existing strings are used again: new ones of the same text would take memory with every commit.
    const names = before ?? { partition: this.#partition, key };
    this.#state.setRecord(space, key, {
      partition: names.partition,
      key: names.key,
      value,
      version,
      expireAt: until,
      expiryIndex: -1,
    });
    if (this.#isUndoable) this.#undos.push(this.#unput(key, before));
    if (this.#isKept) this.effects.push(["put", key, value, version, expireAt ?? null]);
    return null;
  }

  #delete({ shape, key }: Delete): Answer {
    const state = this.#state;
    const partition = this.#partition;
    const space = this.#space;
    if (shape === "record") {
      const before = space.get(shape, key);
      if (before === undefined) return null;
      state.setRecord(space, key, undefined);
      if (this.#isUndoable) this.#undos.push(this.#unput(key, before));
    } else {
      const before = space.get(shape, key);
      if (before === undefined) return null;
      space.delete(shape, key);
      if (this.#isUndoable) this.#undos.push(() => state.open(partition).set(shape, key, before));
    }
    if (this.#isKept) this.effects.push(["delete", shape, key]);
    return null;
  }

  #add(write: Add): Answer {
    const { key, field, by } = write;
    const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
    const space = this.#space;
    const found = space.get("tally", key);
    const before = found?.get(field);
    const sum = (before ?? 0) + by;
    if (!Number.isSafeInteger(sum) || sum < min || sum > max) return refused;
    const tally: Tally = found ?? new Map();
    if (before === undefined && tally.size >= storageLimits.tallyFieldsMax) {
      throw new RangeError(
        `Cannot add to the tally: it has ${tally.size} fields, at most ${storageLimits.tallyFieldsMax}`,
      );
    }
    if (found === undefined) space.set("tally", key, tally);
    tally.set(field, sum);
    if (this.#isUndoable) this.#undos.push(this.#unadd(write, found, before));
    if (this.#isKept) this.effects.push(["add", key, field, sum]);
    return sum;
  }

  #score(write: Score): Answer {
    const { key, member } = write;
    const space = this.#space;
    const found = space.get("board", key);
    const before = found?.get(member);
    const row = scored(write, before);
    if (row === undefined) return refused;
    if (row === before) return row.score;
    const board = found ?? this.#state.newBoard();
    if (found === undefined) space.set("board", key, board);
    board.put(row);
    if (this.#isUndoable) this.#undos.push(this.#rescore(write, found, before));
    if (this.#isKept) this.effects.push(["score", key, member, row.score, row.tie, row.asOf]);
    return row.score;
  }

  #unscore({ key, member }: Unscore): Answer {
    const space = this.#space;
    const board = space.get("board", key);
    const before = board?.get(member);
    if (board === undefined || before === undefined) return null;
    board.remove(member);
    if (board.size === 0) space.delete("board", key);
    if (this.#isUndoable) this.#undos.push(this.#rescored(key, board, before));
    if (this.#isKept) this.effects.push(["unscore", key, member]);
    return null;
  }

  #append({ key, value, at, maxLength }: Append): Answer {
    const space = this.#space;
    const found = space.get("log", key);
    const log = found ?? new Log();
    const { ms, seq } = log.next(at);
    if (found === undefined) space.set("log", key, log);
    log.push({ ms, seq, value });
    const dropped = log.size > maxLength ? log.drop(log.size - maxLength) : undefined;
    if (this.#isUndoable) this.#undos.push(this.#unappend(key, log, dropped));
    if (this.#isKept) {
      const first = log.first ?? { ms, seq };
      this.effects.push(["append", key, ms, seq, value, first.ms, first.seq]);
    }
    return `${ms}-${seq}`;
  }

  // A separate function makes the undo step, so that writes which need none allocate nothing for it.

  #unput(key: string, before: StoredRecord | undefined): () => void {
    return () => this.#state.setRecord(this.#state.open(this.#partition), key, before);
  }

  #unadd({ key, field }: Add, found: Tally | undefined, before: number | undefined): () => void {
    return () => {
      if (found === undefined) this.#state.open(this.#partition).delete("tally", key);
      else if (before === undefined) found.delete(field);
      else found.set(field, before);
    };
  }

  #rescore({ key, member }: Score, board: Board | undefined, before: BoardRow | undefined): () => void {
    return () => {
      if (board === undefined) this.#state.open(this.#partition).delete("board", key);
      else if (before === undefined) board.remove(member);
      else board.put(before);
    };
  }

  #rescored(key: string, board: Board, before: BoardRow): () => void {
    return () => {
      board.put(before);
      if (board.size === 1) this.#state.open(this.#partition).set("board", key, board);
    };
  }

  #unappend(key: string, log: Log, dropped: readonly LogItem[] | undefined): () => void {
    return () => {
      log.pop();
      if (dropped !== undefined) log.restore(dropped);
      if (log.size === 0) this.#state.open(this.#partition).delete("log", key);
    };
  }
}

function isFallible(write: Write): boolean {
  return write.type === "add" || (write.type === "score" && write.op === "add");
}

/** Returns the row after a score write: the same object where nothing changes, undefined if a guard refuses it. */
function scored(write: Score, before: BoardRow | undefined): BoardRow | undefined {
  const { op, member, tie = 0, asOf } = write;
  // Adding 0 turns -0 into 0.
  const given = write.score + 0;
  if (before === undefined) return { member, score: given, tie: tie + 0, asOf: asOf ?? noAsOf };
  if (asOf !== undefined && asOf <= before.asOf) return before;
  let score = given;
  if (op === "add") score = addDecimals(before.score, given);
  else if (op === "min") score = Math.min(before.score, given);
  else if (op === "max") score = Math.max(before.score, given);
  if (op === "add" && Math.abs(score) > Number.MAX_SAFE_INTEGER) return undefined;
  if (score !== before.score) return { member, score, tie: tie + 0, asOf: asOf ?? before.asOf };
  return asOf === undefined ? before : { ...before, asOf };
}
