/**
 * Walks over candidates, each with the position at which the walk continues after it.
 *
 * Without an order every user who exists for the whole walk is met exactly once: users are met in the order of creation, which
 * never changes, or by id within a range of an index. In an order whose values change, users that moved after the walk began are
 * skipped, so that none is met twice.
 */

import { compareUtf8 } from "../../../base/text/mod.ts";
import type { WalkDirection } from "../../../storage/board_pages.ts";
import { type BoardEntry, readPageAfter, type Store } from "../../../storage/mod.ts";
import {
  readStandings,
  type UserRange,
  userBoards,
  userShardPartition,
  userShards,
  usersInRange,
  walkNamedUsers,
  walkUsers,
} from "../../users/mod.ts";
import type { ValueRange } from "./filter_demands.ts";
import { type PositionIn, printPosition } from "./search_cursor.ts";
import type { Candidate } from "./types.ts";

interface WalkOptions {
  readonly store: Store;
  readonly organisationId: string;
}

/** Walks over users by creation, shard by shard. */
export function walkAll(
  { store, organisationId }: WalkOptions,
  from: PositionIn<"all" | "rest">,
  created: ValueRange | undefined,
): Walk {
  return walkShards<BoardEntry>(from, {
    load: (shard, after, limit) =>
      readPageAfter(store, userShardPartition(organisationId, shard), {
        key: userBoards.created,
        direction: "asc",
        after,
        min: created?.min,
        max: created?.max,
        limit,
      }),
    candidate: ({ member, score }, nth) => ({ userId: member, createdAt: score, nth }),
    print: (shard, after) => printPosition({ ...from, shard, after }),
  });
}

/** Walks over the users in a range of an index, shard by shard and by id. */
export function walkRange(
  { store, organisationId }: WalkOptions,
  from: PositionIn<"range">,
  range: UserRange,
): Walk {
  const idsByShard = new Map<number, readonly string[]>();
  async function loadIds(shard: number): Promise<readonly string[]> {
    const entries = await usersInRange(store, userShardPartition(organisationId, shard), range);
    const ids = entries.map(({ member }) => member).sort(compareUtf8);
    idsByShard.set(shard, ids);
    return ids;
  }
  // One value has few users, most shards have none: read together they take one round trip.
  const isPoint = range.min === range.max;
  async function loadRest(): Promise<void> {
    await Promise.all(
      Array.from({ length: userShards - from.shard }, (_, index) => loadIds(from.shard + index)),
    );
  }
  const begin = { shard: from.shard, after: from.after === "" ? null : from.after };
  return walkShards<string>(begin, {
    async load(shard, after, limit) {
      if (isPoint && idsByShard.size === 0) await loadRest();
      const ids = idsByShard.get(shard) ?? (await loadIds(shard));
      const rest = after === null ? ids : ids.filter(id => compareUtf8(id, after) > 0);
      return { entries: rest.slice(0, limit), isEnd: rest.length <= limit };
    },
    candidate: (userId, nth) => ({ userId, createdAt: null, nth }),
    print: (shard, after) => printPosition({ ...from, shard, after: after ?? "" }),
  });
}

export function walkNamed(from: PositionIn<"named">, userIds: readonly string[]): Walk {
  const waiting = userIds.filter(userId => compareUtf8(userId, from.after) > 0).sort(compareUtf8);
  const positionAfter = ({ userId }: Candidate): string => printPosition({ walk: "named", after: userId });
  return {
    async next(count) {
      const candidates = waiting.splice(0, count).map((userId, nth) => ({ userId, createdAt: null, nth }));
      const last = candidates.at(-1);
      const isEnd = waiting.length === 0 || last === undefined;
      return { candidates, position: isEnd ? null : positionAfter(last), positionAfter };
    },
  };
}

export interface BoardOrder {
  readonly key: string;
  readonly direction: WalkDirection;
  /** The part of an entry that tells when its user moved. */
  readonly moves: "never" | "score" | "tie";
  /** Only values of this range. */
  readonly range: ValueRange | undefined;
  /** Only these users; null for all. */
  readonly userIds: readonly string[] | null;
}

export async function walkOrder(
  options: WalkOptions,
  from: PositionIn<"order">,
  { key, direction, moves, range, userIds }: BoardOrder,
): Promise<Walk> {
  const order = { key, direction, min: range?.min, max: range?.max };
  const walked = { ...options, after: from.after };
  const users = userIds === null ? walkUsers(walked, order) : await walkNamedUsers(walked, order, userIds);
  return {
    async next(count) {
      const entries = await users.next(count);
      const unmoved = entries.filter(entry => moves === "never" || entry[moves] <= from.at);
      const candidates = unmoved.map(({ member, score }, nth) => ({
        userId: member,
        createdAt: key === userBoards.created ? score : null,
        nth,
      }));
      const last = entries.at(-1);
      const isEnd = last === undefined || entries.length < count;
      return {
        candidates,
        position: isEnd ? null : printPosition({ ...from, after: last }),
        positionAfter: ({ nth }) => printPosition({ ...from, after: unmoved[nth] ?? null }),
      };
    },
  };
}

/** Walks over users without an entry in an order, by creation. */
export function walkRest(
  options: WalkOptions,
  from: PositionIn<"rest">,
  { key, userIds }: Pick<BoardOrder, "key" | "userIds">,
): Walk {
  const { store, organisationId } = options;
  const named = userIds === null ? null : new Set(userIds);
  const all = walkAll(options, from, undefined);
  return {
    async next(count) {
      const { candidates: found, ...part } = await all.next(count);
      const candidates = found.filter(({ userId }) => named?.has(userId) ?? true);
      const ids = candidates.map(({ userId }) => userId);
      const standings = await readStandings(store, organisationId, ids, [key]);
      const absent = candidates.filter(({ userId }) => standings.get(userId)?.[0] === null);
      return { ...part, candidates: absent };
    },
  };
}

const concurrentShardsMax = 16;

/** A part of a walk. It may be empty although more follow. */
interface WalkPart {
  readonly candidates: readonly Candidate[];
  /** The position after the part; null at the end of the walk. */
  readonly position: string | null;
  positionAfter(candidate: Candidate): string;
}

export interface Walk {
  /** Returns the next candidates, at most `count`. */
  next(count: number): Promise<WalkPart>;
}

export interface ShardWalk<E> {
  /** Loads up to `limit` entries of a shard after one; null: from its beginning. */
  load(
    shard: number,
    after: E | null,
    limit: number,
  ): Promise<{ readonly entries: readonly E[]; readonly isEnd: boolean }>;
  candidate(entry: E, nth: number): Candidate;
  print(shard: number, after: E | null): string;
}

/** Walks on from an entry of a shard to the end of the last shard. */
export function walkShards<E>(
  from: { readonly shard: number; readonly after: E | null },
  { load, candidate, print }: ShardWalk<E>,
): Walk {
  let { shard, after } = from;
  let width = 1;
  return {
    async next(count) {
      const first = shard;
      const parts = await Promise.all(
        Array.from({ length: Math.min(width, userShards - first) }, (_, offset) =>
          load(first + offset, offset === 0 ? after : null, count),
        ),
      );
      const candidates: Candidate[] = [];
      const taken: { readonly shard: number; readonly entries: readonly E[]; readonly from: number }[] = [];
      let isFull = false;
      for (const [offset, { entries, isEnd }] of parts.entries()) {
        const here = first + offset;
        const fitting = entries.slice(0, count - candidates.length);
        taken.push({ shard: here, entries: fitting, from: candidates.length });
        for (const entry of fitting) candidates.push(candidate(entry, candidates.length));
        isFull = !isEnd || fitting.length < entries.length;
        shard = isFull ? here : here + 1;
        after = isFull ? (fitting.at(-1) ?? (offset === 0 ? after : null)) : null;
        if (isFull) break;
      }
      width = isFull ? Math.max(1, Math.floor(width / 2)) : Math.min(concurrentShardsMax, 2 * width);
      return {
        candidates,
        position: shard >= userShards ? null : print(shard, after),
        positionAfter({ nth }) {
          const part = taken.findLast(({ from }) => from <= nth);
          return print(part?.shard ?? first, part?.entries[nth - part.from] ?? null);
        },
      };
    },
  };
}
