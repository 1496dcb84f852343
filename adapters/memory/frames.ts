/**
 * Effects: what a write left behind, in a form that can be kept and replayed.
 *
 * An effect states a result ("the field is now 7"), not an operation ("add 2"). Replaying effects in order over a state
 * that already holds some of the later ones still ends in the exact state, which is what lets a snapshot be taken
 * while commits go on (redo logging over a fuzzy checkpoint).
 */

import type { AppError } from "../../lib/base/errors/mod.ts";
import type { BoardRow } from "./board/board.ts";
import { noAsOf } from "./board/member_table.ts";
import { Log, type LogPosition, type PartitionState, type Shape, type State } from "./state.ts";

export type Effect =
  | readonly ["put", key: string, value: string, version: string, expireAt: number | null]
  | readonly ["delete", shape: Shape, key: string]
  | readonly ["add", key: string, field: string, value: number]
  | readonly ["score", key: string, member: string, score: number, tie: number, asOf: number]
  | readonly ["unscore", key: string, member: string]
  /** Entries before the place `firstMs`-`firstSeq` are dropped. */
  | readonly [
      "append",
      key: string,
      ms: number,
      seq: number,
      value: string,
      firstMs: number,
      firstSeq: number,
    ];

/** Returns the text of a frame: the number of a commit, its partition, its effects. */
export function writeFrame(counter: number, partition: string, effects: readonly Effect[]): string {
  return JSON.stringify([counter, partition, effects]);
}

/**
 * Applies a frame to the state.
 *
 * @throws SyntaxError or TypeError where the text is no frame
 */
export function replayFrame(state: State, frame: string): void {
  const [counter, partition, effects]: [number, string, Effect[]] = JSON.parse(frame);
  if (!Number.isSafeInteger(counter)) throw new TypeError("The frame has no commit number");
  state.counter = Math.max(state.counter, counter);
  for (const effect of effects) replay(state, partition, effect);
  state.prune(partition);
}

function replay(state: State, partition: string, effect: Effect): void {
  const space = state.open(partition);
  switch (effect[0]) {
    case "put": {
      const [, key, value, version, expireAt] = effect;
      const until = expireAt ?? Number.POSITIVE_INFINITY;
      state.setRecord(space, key, { partition, key, value, version, expireAt: until, expiryIndex: -1 });
      return;
    }
    case "delete": {
      const [, shape, key] = effect;
      if (shape === "record") state.setRecord(space, key, undefined);
      else space.delete(shape, key);
      return;
    }
    case "add": {
      const [, key, field, value] = effect;
      const tally = space.get("tally", key);
      if (tally === undefined) space.set("tally", key, new Map([[field, value]]));
      else tally.set(field, value);
      return;
    }
    case "score":
      replayScore(state, partition, effect);
      return;
    case "unscore": {
      const [, key, member] = effect;
      const board = space.get("board", key);
      board?.remove(member);
      if (board?.size === 0) space.delete("board", key);
      return;
    }
    case "append":
      replayAppend(state, partition, effect);
      return;
    default:
      throw new TypeError(`The frame has an unknown effect ${JSON.stringify(effect)}`);
  }
}

function replayScore(
  state: State,
  partition: string,
  effect: Effect & readonly ["score", ...unknown[]],
): void {
  const [, key, member, score, tie, asOf = noAsOf] = effect;
  const space = state.open(partition);
  const board = space.get("board", key) ?? state.newBoard();
  if (board.size === 0) space.set("board", key, board);
  board.put({ member, score, tie, asOf });
}

function replayAppend(
  state: State,
  partition: string,
  effect: Effect & readonly ["append", ...unknown[]],
): void {
  const [, key, ms, seq, value, firstMs, firstSeq] = effect;
  const space = state.open(partition);
  const log = space.get("log", key) ?? new Log();
  if (log.size === 0) space.set("log", key, log);
  // A snapshot taken while commits went on may hold this entry, or later ones, already.
  const last = log.last;
  if (last === undefined || ms > last.ms || (ms === last.ms && seq > last.seq)) log.push({ ms, seq, value });
  log.drop(log.before({ ms: firstMs, seq: firstSeq }, false));
}

export const frameCharsMax = 65_536;
const logEntriesMax = 256;

/** Describes the whole state in frames, lazily; see `JournalClient.snapshot` for what may change meanwhile. */
export function* snapshotFrames(state: State): Generator<string, undefined> {
  yield writeFrame(state.counter, "", []);
  for (const [partition, space] of state.partitions()) {
    let effects: Effect[] = [];
    let chars = 0;
    for (const effect of spaceEffects(space)) {
      effects.push(effect);
      chars += effectChars(effect);
      if (chars < frameCharsMax) continue;
      yield writeFrame(state.counter, partition, effects);
      effects = [];
      chars = 0;
    }
    if (effects.length > 0) yield writeFrame(state.counter, partition, effects);
  }
  return undefined;
}

function* spaceEffects(space: PartitionState): Generator<Effect, void> {
  for (const [key, { value, version, expireAt }] of space.entries("record")) {
    yield ["put", key, value, version, expireAt === Number.POSITIVE_INFINITY ? null : expireAt];
  }
  for (const [key, tally] of space.entries("tally")) {
    for (const [field, value] of tally) yield ["add", key, field, value];
  }
  for (const [key, board] of space.entries("board")) yield* boardEffects(key, board.rows());
  for (const [key, log] of space.entries("log")) yield* logEffects(key, log);
}

function* boardEffects(key: string, rows: Iterator<BoardRow>): Generator<Effect, void> {
  for (let step = rows.next(); !step.done; step = rows.next()) {
    const { member, score, tie, asOf } = step.value;
    yield ["score", key, member, score, tie, asOf];
  }
}

function* logEffects(key: string, log: Log): Generator<Effect, void> {
  // By place, not by position: entries may be dropped at the old end between two steps.
  let last: LogPosition = { ms: -1, seq: 0 };
  for (;;) {
    const items = log.slice(log.before(last, true), logEntriesMax);
    for (const { ms, seq, value } of items) yield ["append", key, ms, seq, value, 0, 0];
    const end = items.at(-1);
    if (end === undefined) return;
    last = end;
  }
}

function effectChars(effect: Effect): number {
  let chars = 0;
  for (const part of effect) chars += typeof part === "string" ? part.length + 3 : 14;
  return chars;
}

export interface JournalClient {
  /**
   * Takes one kept frame during {@linkcode Journal.open}, in the order in which they were appended.
   *
   * @throws where the frame is not one that a store has written
   */
  apply(frame: string): void;
  /**
   * Starts to describe the whole state in frames, which replace every frame appended before this call.
   *
   * The iterator is lazy: commits may change the state between two of its steps. This is sound because frames hold
   * results, not operations: replaying the frames appended after this call over the description gives the exact state.
   * A description during which a frame was lost must be thrown away.
   */
  snapshot(): Iterator<string>;
}

/** Receives the outcome of a frame, once and never before `append` has returned: an error unless it is kept. */
export type Settle = (failure?: AppError) => void;

/**
 * The port through which the in-memory store keeps its commits: an ordered list of frames that outlives the process.
 * A frame is well-formed text without line breaks.
 */
export interface Journal {
  /** True if a kept frame survives the end of the process and of the operating system. */
  readonly durable: boolean;
  /**
   * Replays what was kept into the client, once, before any append.
   *
   * @throws AppError `storage_unavailable` where what was kept cannot be read
   */
  open(client: JournalClient): Promise<void>;
  /**
   * Accepts a frame behind all earlier ones. Frames settle in order. Where one is lost, every frame accepted after it
   * is lost too, and all of them settle before another is accepted: with `storage_unavailable`, or with
   * `outcome_unknown` if it is unknown which of them will exist after a restart.
   *
   * @throws AppError at once, accepting nothing: `busy` while too much is waiting, `storage_unavailable` once the
   *   medium cannot be trusted any more
   */
  append(frame: string, settle: Settle): void;
  /** Resolves while frames are accepted, else rejects with `storage_unavailable`. */
  ping(): Promise<void>;
  /** Keeps the waiting frames and closes the medium. */
  close(): Promise<void>;
}
