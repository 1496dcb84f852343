/**
 * Changes scores by decisions that are guarded by a record: for dense ranks and for sums within bounds.
 *
 * Dense ranks are counted on a second board in the same partition, with each distinct score once. The board of entries
 * itself tells whether a score is still held, so no counter can drift. Versions (`asOf`) are stored on a third board, because
 * a decision must read them. Every change rewrites the guard: of decisions that read the same state only one commits, and
 * the others decide again.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { addDecimals } from "../../../base/text/mod.ts";
import {
  type Decision,
  decide,
  type Read,
  type ReadBoard,
  type Result,
  type Standing,
  type Store,
  type Stored,
  type Write,
} from "../../../storage/mod.ts";
import { scoreMax } from "../settings/board_settings.ts";
import { type Addition, additionIdsDelete, additionIdsRead, additionIdsWrites } from "./addition_ids.ts";
import { type BoardChange, type ScoreChange, type ShardChanges, sumOutOfRange } from "./board_change.ts";
import {
  type BoardLocation,
  boardKey,
  distinctKey,
  fromStoredScore,
  isWithinBounds,
  toStoredScore,
} from "./board_location.ts";

/** The record whose version identifies a state of the boards. */
export const guardKey = "guard";
/** The board of the versions of the users' scores. */
export const scoreVersionsKey = "versions";
/** Most users whose entries one decision changes. */
const usersPerDecisionMax = 100;
const decisionAttemptsMax = 16;

/** The result of a decision: the scores that users then have, or the scores that it must read to be made. */
type Decided = { readonly results: readonly (number | null)[] } | { readonly missing: readonly number[] };

interface StoredEntry {
  readonly score: number;
  readonly tie: number;
  readonly version: number | null;
}

/** Entries by user; null: the user has none. */
type Entries = ReadonlyMap<string, StoredEntry | null>;

/** Changes one shard of a guarded board; see `changeScores`. */
export async function changeGuarded(
  store: Store,
  { location, partition, changes }: ShardChanges,
): Promise<(number | null)[]> {
  const users = [...new Set(changes.map(({ userId }) => userId))];
  const results = new Map<BoardChange, number | null>();
  for (let from = 0; from < users.length; from += usersPerDecisionMax) {
    const some = new Set(users.slice(from, from + usersPerDecisionMax));
    const batch = changes.filter(({ userId }) => some.has(userId));
    const done = await changeUsers(store, { location, partition, changes: batch }, [...some]);
    for (const [index, change] of batch.entries()) results.set(change, done[index] ?? null);
  }
  return changes.map(change => results.get(change) ?? null);
}

/** Adds to a user's score on a guarded board, once for an id; see `addScore`. */
export async function addGuarded(
  store: Store,
  { location, partition, addition }: Omit<ShardChanges, "changes"> & { readonly addition: Addition },
): Promise<number | null> {
  const changes: readonly BoardChange[] = [{ ...addition, operator: "sum" }];
  const [score] = await changeUsers(store, { location, partition, changes, addition }, [addition.userId]);
  return score ?? null;
}

async function changeUsers(
  store: Store,
  { location, partition, changes, addition }: ShardChanges & { readonly addition?: Addition },
  users: readonly string[],
): Promise<readonly (number | null)[]> {
  const entryReads = users.flatMap((member): Read[] => [
    { type: "standing", key: boardKey, member },
    { type: "standing", key: scoreVersionsKey, member },
  ]);
  let scores: readonly number[] = distinctScores(entriesOf(users, await store.read(partition, entryReads)));
  for (let attempt = 1; attempt <= decisionAttemptsMax; attempt++) {
    const readScores = scores;
    const answer = await decide(store, partition, {
      reads: [
        { type: "record", key: guardKey },
        ...entryReads,
        ...readScores.map(score => holdersOf(score, users.length)),
        ...(addition === undefined ? [] : [additionIdsRead(addition.userId)]),
      ],
      idempotent: addition !== undefined || changes.every(({ operator }) => operator !== "sum"),
      apply: ([, ...state]): Decision<Decided> => {
        const before = entriesOf(users, state);
        const left = distinctScores(before);
        if (left.some(score => !readScores.includes(score))) return { writes: [], answer: { missing: left } };
        const remember =
          addition === undefined ? [] : additionIdsWrites(addition, state.at(-1) as Stored | null);
        if (remember === null) {
          const results = left.map(score => fromStoredScore(location, score));
          return { writes: [], answer: { results } };
        }
        const { after, results } = applyChanges(location, before, changes);
        const ranges = state.slice(entryReads.length) as readonly Result<ReadBoard>[];
        const heldByOthers = readScores.filter((_, index) =>
          ranges[index]?.entries.some(({ member }) => !before.has(member)),
        );
        const writes = [
          ...users.flatMap(userId => entryWrites(userId, before.get(userId), after.get(userId))),
          ...distinctWrites(before, after, heldByOthers),
        ];
        const guard: Write = { type: "put", key: guardKey, value: "" };
        if (results.some(result => result !== null)) writes.push(...remember);
        return { writes: writes.length === 0 ? [] : [guard, ...writes], answer: { results } };
      },
    });
    if ("results" in answer) return answer.results;
    scores = answer.missing;
  }
  throw new AppError("busy", "Cannot change the scores as they keep changing meanwhile", {
    retryAfterMs: 1_000,
  });
}

/** Reads enough holders of a score to see whether any user outside the decision has it. */
function holdersOf(score: number, users: number): Read {
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

function distinctScores(entries: Entries): number[] {
  return [...new Set([...entries.values()].flatMap(entry => (entry === null ? [] : [entry.score])))];
}

function applyChanges(
  location: BoardLocation,
  before: Entries,
  changes: readonly BoardChange[],
): { readonly after: Entries; readonly results: readonly (number | null)[] } {
  const after = new Map(before);
  const results = changes.map(change => {
    if (change.operator === "remove") {
      after.set(change.userId, null);
      return null;
    }
    const next = applyScore(location, after.get(change.userId) ?? null, change);
    if (next === null) return null;
    after.set(change.userId, next);
    return fromStoredScore(location, next.score);
  });
  return { after, results };
}

/** Returns the entry after a change; null for a score out of bounds. */
function applyScore(
  location: BoardLocation,
  entry: StoredEntry | null,
  change: ScoreChange,
): StoredEntry | null {
  const { at, operator } = change;
  const version = change.asOf ?? (operator === "latest" ? at : null);
  if (entry !== null && version !== null && entry.version !== null && version <= entry.version) return entry;
  const given = toStoredScore(location, change.score);
  const score = entry === null ? given : combine(operator, entry.score, given);
  if (Math.abs(score) > scoreMax) throw sumOutOfRange();
  if (!isWithinBounds(location, fromStoredScore(location, score))) return null;
  const tie = entry?.score === score ? entry.tie : at;
  return { score, tie, version: version ?? entry?.version ?? null };
}

function combine(operator: ScoreChange["operator"], stored: number, given: number): number {
  switch (operator) {
    case "best":
      return Math.min(stored, given);
    case "sum":
      return addDecimals(stored, given);
    case "set":
    case "latest":
      return given;
  }
}

function entryWrites(
  member: string,
  before: StoredEntry | null = null,
  after: StoredEntry | null = null,
): Write[] {
  if (before === after) return [];
  const writes: Write[] = [];
  // A board keeps the tie of an unchanged score, so an entry with a new tie is removed first.
  const hasNewTie = before?.score === after?.score && before?.tie !== after?.tie;
  if (before !== null && (after === null || hasNewTie))
    writes.push({ type: "unscore", key: boardKey, member });
  if (before !== null && after === null) writes.push(additionIdsDelete(member));
  if (after !== null && (before?.score !== after.score || hasNewTie)) {
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

/** Updates the board of distinct scores. `heldByOthers` are the scores that users outside the decision have too. */
function distinctWrites(before: Entries, after: Entries, heldByOthers: readonly number[]): Write[] {
  const now = distinctScores(after);
  const then = distinctScores(before);
  const gone = then.filter(score => !now.includes(score) && !heldByOthers.includes(score));
  const added = now.filter(score => !then.includes(score));
  return [
    ...gone.map((score): Write => ({ type: "unscore", key: distinctKey, member: String(score) })),
    ...added.map(
      (score): Write => ({ type: "score", op: "set", key: distinctKey, member: String(score), score }),
    ),
  ];
}
