/**
 * The one way in which scores come onto boards and leave them: from back ends, from what users do, and by rebuilding.
 *
 * @module
 */

import type { Partition, Store, Write } from "../../storage/mod.ts";
import { type BoardChange, notFinite, type ShardChanges } from "./board_change.ts";
import {
  type BoardLocation,
  boardKey,
  entryPartition,
  isWithinBounds,
  toStoredScore,
} from "./board_location.ts";
import { changeGuarded } from "./guarded_scores.ts";

/** Most changes that are one commit. */
export const changesPerCommitMax = 500;

/**
 * Changes a board: in the order given, those of one user in one shard's partition, at most
 * {@linkcode changesPerCommitMax} in one commit. Answers per change the score that the user then has, and null for a
 * removal and for a score outside of the board's bounds, which changes nothing.
 *
 * @throws {AppError} `conflict`: a sum would not be finite; nothing of its commit is written. `busy`: too many change the
 *   same guarded board. `storage_unavailable`, `outcome_unknown`: some changes may have been made.
 */
export async function changeScores(
  store: Store,
  location: BoardLocation,
  changes: readonly BoardChange[],
): Promise<readonly (number | null)[]> {
  const commit = location.isGuarded ? changeGuarded : changeFreely;
  const home = changes.length > changesPerCommitMax ? null : sharedHome(location, changes);
  if (home !== null) return await commit(store, { location, partition: home, changes });
  const results: (number | null)[] = changes.map(() => null);
  await Promise.all(
    [...byShard(location, changes)].map(async ([partition, indexes]) => {
      for (let from = 0; from < indexes.length; from += changesPerCommitMax) {
        const some = indexes.slice(from, from + changesPerCommitMax);
        const own = some.flatMap(index => changes[index] ?? []);
        const done = await commit(store, { location, partition, changes: own });
        for (const [at, index] of some.entries()) results[index] = done[at] ?? null;
      }
    }),
  );
  return results;
}

/** The partition that has the entries of all the users; null where there are several. */
function sharedHome(location: BoardLocation, changes: readonly BoardChange[]): Partition | null {
  const [only] = location.shards;
  if (location.shards.length === 1) return only;
  const home = entryPartition(location, changes[0]?.userId ?? "");
  return changes.every(({ userId }) => entryPartition(location, userId) === home) ? home : null;
}

function byShard(location: BoardLocation, changes: readonly BoardChange[]): Map<Partition, number[]> {
  const shards = new Map<Partition, number[]>();
  for (const [index, { userId }] of changes.entries()) {
    const partition = entryPartition(location, userId);
    const indexes = shards.get(partition);
    if (indexes === undefined) shards.set(partition, [index]);
    else indexes.push(index);
  }
  return shards;
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
  const commit = await store.commit(partition, { writes: ranked.map(change => writeOf(location, change)) });
  if (!commit.ok) throw notFinite();
  let next = 0;
  return changes.map(change => {
    if (change !== ranked[next]) return null;
    const result = commit.results[next++];
    return typeof result === "number" ? toStoredScore(location, result) : null;
  });
}

function writeOf(location: BoardLocation, change: BoardChange): Write {
  const { userId: member } = change;
  if (change.operator === "remove") return { type: "unscore", key: boardKey, member };
  const { at: tie, operator, asOf } = change;
  const score = toStoredScore(location, change.score);
  // What feeds bring, thousands at a time.
  if (operator === "set" && asOf !== undefined) {
    return { type: "score", op: "set", key: boardKey, member, score, tie, asOf };
  }
  const common = { type: "score", key: boardKey, member, score, tie } as const;
  const versioned = asOf === undefined ? common : { ...common, asOf };
  switch (operator) {
    case "set":
      return { ...versioned, op: "set" };
    case "best":
      return { ...versioned, op: "min" };
    case "sum":
      return { ...versioned, op: "add" };
    case "latest":
      return { ...common, op: "set", asOf: asOf ?? tie };
  }
}
