/**
 * Changes that rest on more of the board than the entry itself, as decisions guarded by a record.
 *
 * Dense ranks are counted on a second board in the same partition, which has every distinct score once. Whether a score is
 * still somebody's is read off the board itself, so that there is no count beside it that could drift. Versions (`asOf`) are
 * kept in a third board, because a decision must see them. Every change writes the guard anew: so of the decisions that
 * rest on one state of the boards only one is committed, and the others are made again.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import {
  type Decision,
  decide,
  type Read,
  type ReadBoard,
  type Result,
  type Standing,
  type Store,
  type Write,
} from "../../storage/mod.ts";
import { type BoardChange, notFinite, type ScoreEntry, type ShardChanges } from "./board_change.ts";
import {
  type BoardLocation,
  boardKey,
  distinctKey,
  isWithinBounds,
  toStoredScore,
} from "./board_location.ts";

/** The record whose version tells every state of the boards apart. */
export const guardKey = "guard";
/** The board of the versions that the users' scores have. */
export const scoreVersionsKey = "versions";
/** Most users whose entries one decision changes. */
export const usersPerDecisionMax = 100;
/** Attempts at a decision while the users' scores change in between. */
export const guardedAttemptsMax = 16;

/** What a decision came to: the scores that users then have, or which scores it must look at to be made. */
type Decided = { readonly results: readonly (number | null)[] } | { readonly left: readonly number[] };

/** What the boards know of a user, scores as they are stored. */
interface Held {
  readonly score: number;
  readonly tie: number;
  readonly version: number | null;
}

type Entries = ReadonlyMap<string, Held | null>;

/** Changes a shard of a guarded board; see `scoreBatch`. */
export async function changeGuarded(
  store: Store,
  { location, partition, changes }: ShardChanges,
): Promise<(number | null)[]> {
  const users = [...new Set(changes.map(({ userId }) => userId))];
  const results = new Map<BoardChange, number | null>();
  for (let from = 0; from < users.length; from += usersPerDecisionMax) {
    const some = new Set(users.slice(from, from + usersPerDecisionMax));
    const own = changes.filter(({ userId }) => some.has(userId));
    const done = await changeUsers(store, { location, partition, changes: own }, [...some]);
    for (const [index, change] of own.entries()) results.set(change, done[index] ?? null);
  }
  return changes.map(change => results.get(change) ?? null);
}

async function changeUsers(
  store: Store,
  { location, partition, changes }: ShardChanges,
  users: readonly string[],
): Promise<readonly (number | null)[]> {
  const reads = users.flatMap(userReads);
  let left: readonly number[] = distinct(entriesOf(users, await store.read(partition, reads)));
  for (let attempt = 1; attempt <= guardedAttemptsMax; attempt++) {
    const answer = await decide(store, partition, {
      reads: [
        { type: "record", key: guardKey },
        ...reads,
        ...left.map(score => holders(score, users.length)),
      ],
      idempotent: changes.every(({ operator }) => operator !== "sum"),
      apply: ([, ...state]): Decision<Decided> => {
        const before = entriesOf(users, state);
        const missing = [...distinct(before)].filter(score => !left.includes(score));
        if (missing.length > 0) return { writes: [], answer: { left: distinct(before) } };
        const ranges = state.slice(reads.length) as readonly Result<ReadBoard>[];
        const { after, results } = applied(location, before, changes);
        const others = left.filter((_, index) =>
          ranges[index]?.entries.some(({ member }) => !before.has(member)),
        );
        const writes = [
          ...users.flatMap(userId => entryWrites(userId, before.get(userId), after.get(userId))),
          ...distinctWrites(before, after, others),
        ];
        const guard: Write = { type: "put", key: guardKey, value: "" };
        return { writes: writes.length === 0 ? [] : [guard, ...writes], answer: { results } };
      },
    });
    if ("results" in answer) return answer.results;
    left = answer.left;
  }
  throw new AppError("busy", "Cannot change the scores as they keep changing meanwhile", {
    retryAfterMs: 1_000,
  });
}

function userReads(member: string): Read[] {
  return [
    { type: "standing", key: boardKey, member },
    { type: "standing", key: scoreVersionsKey, member },
  ];
}

/** Whoever has the score: as many as tell whether somebody beside the users of the decision has it. */
function holders(score: number, users: number): Read {
  return { type: "board", key: boardKey, min: score, max: score, limit: users + 1 };
}

function entriesOf(users: readonly string[], results: readonly unknown[]): Entries {
  return new Map(
    users.map((userId, index) => {
      const [standing, version] = results.slice(2 * index, 2 * index + 2) as (Standing | null)[];
      if (standing == null) return [userId, null];
      return [userId, { score: standing.score, tie: standing.tie, version: version?.score ?? null }];
    }),
  );
}

function distinct(entries: Entries): number[] {
  return [...new Set([...entries.values()].flatMap(held => (held === null ? [] : [held.score])))];
}

interface Applied {
  readonly after: Entries;
  readonly results: readonly (number | null)[];
}

function applied(location: BoardLocation, before: Entries, changes: readonly BoardChange[]): Applied {
  const after = new Map(before);
  const results = changes.map(change => {
    if (change.operator === "remove") {
      after.set(change.userId, null);
      return null;
    }
    const held = after.get(change.userId) ?? null;
    const next = scored(location, held, change);
    if (next === null) return null;
    after.set(change.userId, next);
    return toStoredScore(location, next.score);
  });
  return { after, results };
}

/** What the board then knows of the user; null for a score out of bounds. */
function scored(location: BoardLocation, held: Held | null, change: ScoreEntry): Held | null {
  const { at, operator } = change;
  const version = change.asOf ?? (operator === "latest" ? at : null);
  if (held !== null && version !== null && held.version !== null && version <= held.version) return held;
  const given = toStoredScore(location, change.score);
  const score = held === null ? given : combined(operator, held.score, given);
  if (!Number.isFinite(score)) throw notFinite();
  if (!isWithinBounds(location, toStoredScore(location, score))) return null;
  const tie = held?.score === score ? held.tie : at;
  return { score, tie, version: version ?? held?.version ?? null };
}

function combined(operator: ScoreEntry["operator"], held: number, given: number): number {
  switch (operator) {
    case "best":
      return Math.min(held, given);
    case "sum":
      return held + given;
    case "set":
    case "latest":
      return given;
  }
}

function entryWrites(member: string, before: Held | null = null, after: Held | null = null): Write[] {
  if (before === after) return [];
  const writes: Write[] = [];
  // A board keeps the tie of a score that is set again, so an entry that was dated anew is taken off first.
  const isRedated = before?.score === after?.score && before?.tie !== after?.tie;
  if (before !== null && (after === null || isRedated))
    writes.push({ type: "unscore", key: boardKey, member });
  if (after !== null && (before?.score !== after.score || isRedated)) {
    const { score, tie } = after;
    writes.push({ type: "score", op: "set", key: boardKey, member, score, tie });
  }
  const version = after?.version ?? null;
  if (version !== null && version !== before?.version) {
    writes.push({ type: "score", op: "set", key: scoreVersionsKey, member, score: version });
  }
  if (version === null && (before?.version ?? null) !== null) {
    writes.push({ type: "unscore", key: scoreVersionsKey, member });
  }
  return writes;
}

/** Brings the board of distinct scores along. `others` are the scores that users beside those who change have as well. */
function distinctWrites(before: Entries, after: Entries, others: readonly number[]): Write[] {
  const now = new Set(distinct(after));
  const then = new Set(distinct(before));
  const gone = [...then].filter(score => !now.has(score) && !others.includes(score));
  const come = [...now].filter(score => !then.has(score));
  return [
    ...gone.map((score): Write => ({ type: "unscore", key: distinctKey, member: String(score) })),
    ...come.map(
      (score): Write => ({ type: "score", op: "set", key: distinctKey, member: String(score), score }),
    ),
  ];
}
