import type { BoardRow } from "./board/ranked_set.ts";
import { type Effect, writeFrame } from "./effect.ts";
import type { Log, LogPlace } from "./log.ts";
import type { Space, State } from "./state.ts";

/** A frame of a snapshot ends after about this many characters. */
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

function* spaceEffects(space: Space): Generator<Effect, void> {
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
  let last: LogPlace = { ms: -1, seq: 0 };
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
