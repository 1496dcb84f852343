/**
 * Changes the scores of a board: the only path by which scores are written, for back ends, the score feed and rebuilding.
 *
 * @module
 */

import { addDecimals } from "../../../base/text/mod.ts";
import { type Decision, decide, type Partition, type Store, type Write } from "../../../storage/mod.ts";
import { scoreMax } from "../settings/board_settings.ts";
import { type Addition, additionIdsDelete, additionIdsRead, additionIdsWrites } from "./addition_ids.ts";
import { type BoardChange, type ShardChanges, sumOutOfRange } from "./board_change.ts";
import {
  type BoardLocation,
  boardKey,
  entryPartition,
  fromStoredScore,
  isWithinBounds,
  toStoredScore,
} from "./board_location.ts";
import { addGuarded, changeGuarded } from "./guarded_scores.ts";

/** Most changes in one commit. */
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
  if (location.isGuarded) return await addGuarded(store, { location, partition, addition });
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
