/** Changes the scores of a board: the only path by which scores are written, for back ends, the score feed and rebuilding. */

import { AppError } from "../../../base/errors/mod.ts";
import { addDecimals } from "../../../base/text/mod.ts";
import { retry } from "../../../storage/background/mod.ts";
import {
  type BoardEntry,
  type Decision,
  decide,
  type Partition,
  type Read,
  type ReadBoard,
  type ReadRecord,
  type ReadStanding,
  type Result,
  readPageAfter,
  type Standing,
  type Store,
  type Stored,
  type Write,
} from "../../../storage/mod.ts";
import { type BoardOperator, scoreMax } from "../settings/board_settings.ts";
import {
  type BoardLocation,
  boardKey,
  distinctKey,
  entryPartition,
  fromStoredScore,
  isWithinBounds,
  toStoredScore,
} from "./resolve_board.ts";

const changesPerCommitMax = 500;

/**
 * Applies changes in their order, those of one shard in as few commits as possible. Returns for each change the score that the
 * user then has; null for a removal, and for a score outside the bounds, which changes nothing.
 *
 * @throws {AppError} `conflict`: a sum would leave ±(2^53 − 1); nothing of its commit is written. `busy`: too many requests change
 *   the same guarded board. `storage_unavailable`, `outcome_unknown`: some changes may have been made.
 */
export async function changeScores(
  store: Store,
  location: BoardLocation,
  changes: readonly BoardChange[],
): Promise<readonly (number | null)[]> {
  const change = location.isGuarded ? changeGuarded : changeFreely;
  const only = changes.length > changesPerCommitMax ? null : sharedPartition(location, changes);
  if (only !== null) return await change(store, { location, partition: only, changes });
  const results: (number | null)[] = changes.map(() => null);
  const byPartition = new Map<Partition, number[]>();
  for (const [index, { userId }] of changes.entries()) {
    const partition = entryPartition(location, userId);
    const indexes = byPartition.get(partition) ?? [];
    indexes.push(index);
    byPartition.set(partition, indexes);
  }
  await Promise.all(
    [...byPartition].map(async ([partition, indexes]) => {
      for (let from = 0; from < indexes.length; from += changesPerCommitMax) {
        const some = indexes.slice(from, from + changesPerCommitMax);
        const batch = some.flatMap(index => changes[index] ?? []);
        const done = await change(store, { location, partition, changes: batch });
        for (const [at, index] of some.entries()) results[index] = done[at] ?? null;
      }
    }),
  );
  return results;
}

/**
 * Adds to a user's score, once for an id. Returns the score that the user then has; null for a sum outside the bounds, which
 * changes nothing.
 *
 * @throws {AppError} as `changeScores` does. Repeating the addition after an unknown outcome is safe.
 */
export async function addScore(
  store: Store,
  location: BoardLocation,
  addition: Addition,
): Promise<number | null> {
  const { userId, at: tie } = addition;
  const partition = entryPartition(location, userId);
  if (location.isGuarded) {
    const changes: readonly BoardChange[] = [{ ...addition, operator: "sum" }];
    const [score = null] = await changeUsers(store, { location, partition, changes, addition }, [userId]);
    return score;
  }
  const by = toStoredScore(location, addition.score);
  return await decide(store, partition, {
    reads: [additionIdsRead(userId), { type: "standing", key: boardKey, member: userId }],
    idempotent: true,
    apply: ([ids, standing]): Decision<number | null> => {
      const remember = additionIdsWrites(addition, ids);
      const score = standing?.score ?? 0;
      if (remember === null) return { writes: [], answer: fromStoredScore(location, score) };
      const sum = addDecimals(score, by);
      if (Math.abs(sum) > scoreMax) throw sumOutOfRange();
      return {
        writes: [{ type: "score", op: "add", key: boardKey, member: userId, score: by, tie }, ...remember],
        answer: fromStoredScore(location, sum),
        refused: () => {
          throw sumOutOfRange();
        },
      };
    },
  });
}

/** Returns the partition of all the entries; null where there are several. */
function sharedPartition(location: BoardLocation, changes: readonly BoardChange[]): Partition | null {
  const [only] = location.shards;
  if (location.shards.length === 1) return only;
  const first = entryPartition(location, changes[0]?.userId ?? "");
  return changes.every(({ userId }) => entryPartition(location, userId) === first) ? first : null;
}

async function changeFreely(
  store: Store,
  { location, partition, changes }: ShardChanges,
): Promise<(number | null)[]> {
  const ranked =
    location.bounds === undefined
      ? changes
      : changes.filter(change => change.operator === "remove" || isWithinBounds(location, change.score));
  if (ranked.length === 0) return changes.map(() => null);
  const commit = await store.commit(partition, {
    // The results of the changes come first.
    writes: [...ranked.map(change => writeOf(location, change)), ...forgottenIds(ranked)],
  });
  if (!commit.ok) throw sumOutOfRange();
  let next = 0;
  return changes.map(change => {
    if (change !== ranked[next]) return null;
    const result = commit.results[next++];
    return typeof result === "number" ? fromStoredScore(location, result) : null;
  });
}

function forgottenIds(changes: readonly BoardChange[]): Write[] {
  return changes.flatMap(({ userId, operator }) =>
    operator === "remove" ? [additionIdsDelete(userId)] : [],
  );
}

const operations = { set: "set", best: "min", sum: "add", latest: "set" } as const;

function writeOf(location: BoardLocation, change: BoardChange): Write {
  const { userId: member, operator } = change;
  if (operator === "remove") return { type: "unscore", key: boardKey, member };
  const { at: tie, asOf = operator === "latest" ? tie : undefined } = change;
  const score = toStoredScore(location, change.score);
  const op = operations[operator];
  if (asOf === undefined) return { type: "score", op, key: boardKey, member, score, tie };
  return { type: "score", op, key: boardKey, member, score, tie, asOf };
}

/** The record whose version identifies a state of the boards. */
export const guardKey = "guard";
/** The board of the versions of the users' scores. */
export const scoreVersionsKey = "versions";
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
async function changeGuarded(
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
  async function attempt(): Promise<readonly (number | null)[] | undefined> {
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
    return undefined;
  }
  const message = "Cannot change the scores as they keep changing meanwhile";
  const exhausted = () => new AppError("busy", message, { retryAfterMs: 1_000 });
  return await retry(attempt, { attemptsMax: decisionAttemptsMax, exhausted });
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

/** Number of ids that are remembered for a user on a board: the newest. */
export const additionIdsMax = 100;
/** The record that says that a partition has ids; without it, a removal of the partition looks for none. */
export const hasAdditionsKey = "additions";

type Addition = Pick<ScoreChange, "userId" | "score" | "at"> & { readonly id: string };

const keyOf = (userId: string): string => `added:${userId}`;

function additionIdsRead(userId: string): ReadRecord {
  return { type: "record", key: keyOf(userId) };
}

/** Returns the writes that remember an id; null if it is remembered. */
function additionIdsWrites({ userId, id }: Addition, stored: Stored | null): readonly Write[] | null {
  const ids = stored === null ? [] : (JSON.parse(stored.value) as string[]);
  if (ids.includes(id)) return null;
  const newest = [...ids, id].slice(-additionIdsMax);
  return [
    { type: "put", key: keyOf(userId), value: JSON.stringify(newest) },
    { type: "put", key: hasAdditionsKey, value: "" },
  ];
}

export function additionIdsDelete(userId: string): Write {
  return { type: "delete", shape: "record", key: keyOf(userId) };
}

export interface ScoreChange {
  readonly userId: string;
  readonly score: number;
  /** When the score was reached, Unix ms; orders equal scores. */
  readonly at: number;
  readonly operator: BoardOperator;
  /**
   * The revision of the user's state that the score belongs to. An older or equal one changes nothing.
   * @default the time of the score for `latest`; otherwise the score always counts
   */
  readonly asOf?: number;
}

export type BoardChange = ScoreChange | { readonly userId: string; readonly operator: "remove" };

interface ShardChanges {
  readonly location: BoardLocation;
  readonly partition: Partition;
  readonly changes: readonly BoardChange[];
}

function sumOutOfRange(): AppError {
  return new AppError("conflict", "Cannot add to the score as the sum would lie beyond ±9007199254740991");
}

const walkPageMax = 500;
const repairedScoresMax = 200;

/**
 * Reads all entries of a board, page by page. An entry that does not move meanwhile is read exactly once; one that moves may
 * be read twice or not at all.
 */
export async function* walkBoard(
  store: Store,
  partition: Partition,
  key: string,
): AsyncGenerator<readonly BoardEntry[], void, void> {
  for (let after: BoardEntry | null = null; ; ) {
    const query = { key, direction: "asc", after, limit: walkPageMax } as const;
    const { entries, isEnd } = await readPageAfter(store, partition, query);
    if (entries.length > 0) yield entries;
    if (isEnd) return;
    after = entries.at(-1) ?? after;
  }
}

/** Makes every score of an entry one member of the board of distinct scores, and removes all other members. */
export async function repairDistinctScores(store: Store, partition: Partition): Promise<void> {
  for await (const page of walkBoard(store, partition, boardKey)) {
    const scores = [...new Set(page.map(({ score }) => String(score)))];
    const reads = scores.map((member): ReadStanding => ({ type: "standing", key: distinctKey, member }));
    const found = await store.read(partition, reads);
    const missing = scores.filter((member, index) => found[index]?.score !== Number(member));
    await repair(store, partition, missing);
  }
  for await (const page of walkBoard(store, partition, distinctKey)) {
    const found = await store.read(
      partition,
      page.map(({ member }) => firstHolder(member)),
    );
    const wrong = page.filter(
      ({ member, score }, index) => found[index]?.entries.length !== 1 || String(score) !== member,
    );
    await repair(
      store,
      partition,
      wrong.map(({ member }) => member),
    );
  }
}

/** Decides for each text whether an entry has it as its score, and adds or removes the member. */
async function repair(store: Store, partition: Partition, members: readonly string[]): Promise<void> {
  for (let from = 0; from < members.length; from += repairedScoresMax) {
    const some = members.slice(from, from + repairedScoresMax);
    const reads: readonly Read[] = [{ type: "record", key: guardKey }, ...some.map(firstHolder)];
    await decide(store, partition, {
      reads,
      idempotent: true,
      apply: ([, ...ranges]) => {
        const writes = some.map((member, index): Write => {
          const range = ranges[index] as { readonly entries: readonly unknown[] };
          const isScore = Number.isFinite(Number(member)) && String(Number(member)) === member;
          const isHeld = isScore && range.entries.length > 0;
          if (!isHeld) return { type: "unscore", key: distinctKey, member };
          return { type: "score", op: "set", key: distinctKey, member, score: Number(member) };
        });
        return { writes: [{ type: "put", key: guardKey, value: "" }, ...writes], answer: undefined };
      },
    });
  }
}

/** Reads one entry that has the score which a text stands for; a text that is no number stands for 0 here. */
function firstHolder(member: string): ReadBoard {
  const score = Number(member);
  const value = Number.isFinite(score) ? score : 0;
  return { type: "board", key: boardKey, min: value, max: value, limit: 1 };
}
