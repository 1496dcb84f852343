/**
 * All users of an organisation in one order, merged from its shards.
 *
 * @module
 */

import {
  type BoardEntry,
  compareBoardEntries,
  isEntryAfter,
  readPageAfter,
  type Store,
  type WalkDirection,
} from "../storage/mod.ts";
import { userPartition, userShardPartitions, userShards } from "./places.ts";

/** Fewest entries of a shard that a merge reads at a time. */
export const shardPartMin = 4;
/** Most entries of a shard that a merge reads at a time. */
export const shardPartMax = 500;

/** An order over users. */
export interface UserOrder {
  readonly key: string;
  readonly direction: WalkDirection;
  /** Only scores from here. @default all */
  readonly min?: number | undefined;
  /** Only scores up to here. @default all */
  readonly max?: number | undefined;
}

/** Entries of an order, part by part. */
export interface OrderedUsers {
  /** The next entries; fewer than asked for only at the end. */
  next(count: number): Promise<readonly BoardEntry[]>;
}

interface ShardWalk {
  /** Still to come, the next one last. */
  readonly waiting: BoardEntry[];
  last: BoardEntry | null;
  isEnd: boolean;
}

/** What a walk is over. */
export interface WalkedUsers {
  readonly store: Store;
  readonly organisationId: string;
  /** The entry after which it begins; null: the first one. */
  readonly after: BoardEntry | null;
}

/** Walks over all users of an order. Each shard is read at an instant of its own. */
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
      const limit = partSize(count);
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

/** Twice the share of a shard, so that most are read once. */
function partSize(count: number): number {
  return Math.max(shardPartMin, Math.min(shardPartMax, Math.ceil((2 * count) / userShards)));
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

/** Takes entries in order until a shard is empty that may have more. */
function takeWhileFilled(shards: readonly ShardWalk[], { first, taken, count, direction }: Taking): void {
  for (let shard: ShardWalk | undefined = first; shard !== undefined && taken.length < count; ) {
    const entry = shard.waiting.pop();
    if (entry !== undefined) taken.push(entry);
    if (shard.waiting.length === 0 && !shard.isEnd) return;
    shard = firstShard(shards, direction);
  }
}

/** The same walk over named users alone. */
export async function walkNamedUsers(
  { store, organisationId, after }: WalkedUsers,
  { key, direction, min, max }: UserOrder,
  userIds: readonly string[],
): Promise<OrderedUsers> {
  const found = await Promise.all(
    userIds.map(async (member): Promise<readonly BoardEntry[]> => {
      const [standing] = await store.read(userPartition(organisationId, member), [
        { type: "standing", key, member },
      ]);
      return standing === null ? [] : [{ member, score: standing.score, tie: standing.tie }];
    }),
  );
  const sign = direction === "asc" ? 1 : -1;
  const waiting = found
    .flat()
    .filter(entry => isEntryAfter(entry, after, direction))
    .filter(({ score }) => score >= (min ?? score) && score <= (max ?? score))
    .sort((left, right) => sign * compareBoardEntries(left, right));
  return { next: async count => waiting.splice(0, count) };
}
