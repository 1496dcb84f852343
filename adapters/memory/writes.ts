/**
 * The writes of a commit: each is applied at once, and leaves behind how to undo it and how to replay it.
 *
 * Later writes see earlier ones and a refusal may come from any of them, so a refused commit undoes what it has done.
 * The same undo serves when a journal loses a commit after it was applied. Undoing happens in reverse order, and never
 * between the writes of one commit, so no read observes it.
 *
 * @module
 */

import { addDecimals } from "../../lib/base/text/mod.ts";
import type { Add, Append, Batch, Delete, Put, Score, Unscore, Write } from "../../lib/storage/contract.ts";
import { storageLimits } from "../../lib/storage/limits.ts";
import type { Board } from "./board/board.ts";
import { type BoardRow, noAsOf } from "./board/ranked_set.ts";
import type { Effect } from "./frames.ts";
import {
  Log,
  type LogItem,
  type PartitionState,
  type State,
  type StoredRecord,
  type Tally,
} from "./state.ts";

/** Result of a write, or `refused` if a guard does not hold. */
type Answer = number | string | null | typeof refused;

const refused: unique symbol = Symbol("refused");

/** Target of a commit. */
export interface CommitChangeOptions {
  readonly state: State;
  readonly partition: string;
  /** The version of what it puts. */
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
  /** Of the partition while the writes are applied. */
  readonly #space: PartitionState;
  readonly #isKept: boolean;
  readonly #undos: (() => void)[] = [];
  /** True if the current write may have to be undone. */
  #isUndoable: boolean;

  constructor({ state, partition, version, isKept }: CommitChangeOptions) {
    this.#state = state;
    this.#partition = partition;
    this.#space = state.open(partition);
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
    this.#state.prune(this.#partition);
    return undefined;
  }

  /** Undoes the commit. All commits after it must have been undone before. */
  undo(): void {
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) undo();
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

/** Returns true if a write may be refused, or throw. */
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
