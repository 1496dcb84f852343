/**
 * Effects: what a write left behind, in a form that can be kept and replayed.
 *
 * An effect states a result ("the field is now 7"), not an operation ("add 2"). Replaying effects in order over a state
 * that already holds some of the later ones still ends in the exact state, which is what lets a snapshot be taken
 * while commits go on (redo logging over a fuzzy checkpoint).
 *
 * @module
 */
import { noAsOf } from "./board/ranked_set.ts";
import { Log } from "./log.ts";
import type { Shape, State } from "./state.ts";

/** One effect, as it stands in a frame. */
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

/** The text of a frame: the number of a commit, its partition, its effects. */
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
      state.setRecord(partition, key, { partition, key, value, version, expireAt: until, place: -1 });
      return;
    }
    case "delete": {
      const [, shape, key] = effect;
      if (shape === "record") state.setRecord(partition, key, undefined);
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
