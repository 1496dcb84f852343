/**
 * Ranges of boards as sets of users, and how large they are.
 *
 * @module
 */

import {
  type BoardEntry,
  type Partition,
  type ReadBoard,
  type Store,
  storageLimits,
} from "../storage/mod.ts";
import { userShardPartition, userShards } from "./places.ts";

/** How many shards are asked to tell how many users a range has in all; users are spread evenly over them. */
export const sampledShards = 4;
/** Most pages of {@linkcode storageLimits.rangeLimitMax} entries that one shard's range may have. */
export const rangePagesMax = 256;

/** A range of a board: scores from `min` to `max`, both included. */
export interface UserRange {
  readonly key: string;
  readonly min: number;
  readonly max: number;
}

/** Every user of a range in one shard, of one instant. */
export async function usersInRange(
  store: Store,
  partition: Partition,
  { key, min, max }: UserRange,
): Promise<readonly BoardEntry[]> {
  const page = (offset: number): ReadBoard => ({
    type: "board",
    key,
    min,
    max,
    offset,
    limit: storageLimits.rangeLimitMax,
  });
  for (let pages = 1; ; pages = Math.min(2 * pages, rangePagesMax)) {
    const queries = Array.from({ length: pages }, (_, index) => page(index * storageLimits.rangeLimitMax));
    const parts = await store.read(partition, queries);
    const last = parts.at(-1)?.entries.length ?? 0;
    if (last < storageLimits.rangeLimitMax || pages === rangePagesMax)
      return parts.flatMap(({ entries }) => entries);
  }
}

/** About how many users of one shard are in each range, by a sample. */
export async function sampleRanges(
  store: Store,
  organisationId: string,
  ranges: readonly UserRange[],
): Promise<readonly number[]> {
  const step = userShards / sampledShards;
  const samples = await Promise.all(
    Array.from({ length: sampledShards }, async (_, index) => {
      const partition = userShardPartition(organisationId, index * step);
      return await Promise.all(
        ranges.map(async ({ key, min, max }) => {
          const [below, upTo] = await store.read(partition, [
            { type: "before", key, score: min },
            { type: "before", key, score: next(max) },
          ]);
          return upTo - below;
        }),
      );
    }),
  );
  return ranges.map(
    (_, index) => samples.reduce((sum, counts) => sum + (counts[index] ?? 0), 0) / sampledShards,
  );
}

/** A score just above another one; near enough, as a sample is no more than that. */
function next(score: number): number {
  return Number.isFinite(score)
    ? score + Math.max(Number.MIN_VALUE, Math.abs(score) * Number.EPSILON)
    : score;
}
