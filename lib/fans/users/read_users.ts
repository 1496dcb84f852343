/** Reads the users of an organisation in one order, merged from its shards, and ranges of them. */

import { compareBoardEntries, isEntryAfter, type WalkDirection } from "../../storage/board_pages.ts";
import {
  type BoardEntry,
  type Partition,
  type ReadBoard,
  readPageAfter,
  type Store,
  storageLimits,
} from "../../storage/mod.ts";
import { readStandings, userShardPartition, userShardPartitions, userShards } from "./user_index.ts";

/** Fewest entries of a shard that a merge reads at a time. */
const shardPageMin = 4;
const shardPageMax = 500;
/** Number of shards that are counted to estimate the size of a range; users are spread evenly over shards. */
const sampledShards = 4;
/** Most pages of one shard's range. */
const rangePagesMax = 256;

export interface UserOrder {
  readonly key: string;
  readonly direction: WalkDirection;
  /** Only scores from here. @default all */
  readonly min?: number | undefined;
  /** Only scores up to here. @default all */
  readonly max?: number | undefined;
}

export interface OrderedUsers {
  /** Returns the next entries; fewer than requested only at the end. */
  next(count: number): Promise<readonly BoardEntry[]>;
}

interface ShardWalk {
  /** Entries that were read and not returned, the next one last. */
  readonly waiting: BoardEntry[];
  last: BoardEntry | null;
  isEnd: boolean;
}

interface WalkedUsers {
  readonly store: Store;
  readonly organisationId: string;
  /** The entry after which the walk begins; null: the first one. */
  readonly after: BoardEntry | null;
}

/** Walks over all users of an order. Shards are not read at one instant. */
export function walkUsers({ store, organisationId, after }: WalkedUsers, order: UserOrder): OrderedUsers {
  const partitions = userShardPartitions(organisationId);
  const shards = partitions.map((): ShardWalk => ({ waiting: [], last: after, isEnd: false }));
  async function fill(shard: ShardWalk, index: number, limit: number): Promise<void> {
    if (shard.isEnd || shard.waiting.length > 0) return;
    const part = await readPageAfter(store, partitions[index] ?? "", { ...order, after: shard.last, limit });
    shard.waiting.push(...part.entries.toReversed());
    shard.last = part.entries.at(-1) ?? shard.last;
    shard.isEnd = part.isEnd;
  }
  return {
    async next(count) {
      const taken: BoardEntry[] = [];
      const limit = pageSize(count);
      while (taken.length < count) {
        await Promise.all(shards.map((shard, index) => fill(shard, index, limit)));
        const first = firstShard(shards, order.direction);
        if (first === undefined) break;
        takeWhileFilled(shards, { first, taken, count, direction: order.direction });
      }
      return taken;
    },
  };
}

/** Returns twice the share of a shard, so that most are read once. */
function pageSize(count: number): number {
  return Math.max(shardPageMin, Math.min(shardPageMax, Math.ceil((2 * count) / userShards)));
}

function firstShard(shards: readonly ShardWalk[], direction: WalkDirection): ShardWalk | undefined {
  let first: ShardWalk | undefined;
  let best: BoardEntry | undefined;
  for (const shard of shards) {
    const entry = shard.waiting.at(-1);
    if (entry === undefined) continue;
    if (best === undefined || !isEntryAfter(entry, best, direction)) {
      best = entry;
      first = shard;
    }
  }
  return first;
}

interface Taking {
  readonly first: ShardWalk;
  readonly taken: BoardEntry[];
  readonly count: number;
  readonly direction: WalkDirection;
}

/** Takes entries in order until a shard has none left that may have more. */
function takeWhileFilled(shards: readonly ShardWalk[], { first, taken, count, direction }: Taking): void {
  for (let shard: ShardWalk | undefined = first; shard !== undefined && taken.length < count; ) {
    const entry = shard.waiting.pop();
    if (entry !== undefined) taken.push(entry);
    if (shard.waiting.length === 0 && !shard.isEnd) return;
    shard = firstShard(shards, direction);
  }
}

export async function walkNamedUsers(
  { store, organisationId, after }: WalkedUsers,
  { key, direction, min, max }: UserOrder,
  userIds: readonly string[],
): Promise<OrderedUsers> {
  const found = await readStandings(store, organisationId, userIds, [key]);
  const sign = direction === "asc" ? 1 : -1;
  const waiting = [...found]
    .flatMap(([member, [standing]]) =>
      standing == null ? [] : [{ member, score: standing.score, tie: standing.tie }],
    )
    .filter(entry => isEntryAfter(entry, after, direction))
    .filter(({ score }) => score >= (min ?? score) && score <= (max ?? score))
    .sort((left, right) => sign * compareBoardEntries(left, right));
  return { next: async count => waiting.splice(0, count) };
}

/** A range of a board: scores from `min` to `max`, both included. */
export interface UserRange {
  readonly key: string;
  readonly min: number;
  readonly max: number;
}

/** Returns every user of a range in one shard, as of one instant. */
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

/** Returns a score just above another one, near enough for an estimate. */
function next(score: number): number {
  return Number.isFinite(score)
    ? score + Math.max(Number.MIN_VALUE, Math.abs(score) * Number.EPSILON)
    : score;
}
