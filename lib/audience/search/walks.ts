/**
 * Walks over users: who may fit, in an order, each with the place at which the walk goes on after them.
 *
 * Without a wish for an order each user who is there throughout is met exactly once, whatever changes meanwhile: users are met
 * in the order of their creation, which stays, or, of a part of an index, by their ids among those that are in it at the
 * moment. In an order whose values move, whoever moves after the walk began is left out from then on, so nobody comes twice.
 *
 * @module
 */

import { type BoardEntry, readPageAfter, type Store, type WalkDirection } from "../../storage/mod.ts";
import { compareUtf8 } from "../../text/mod.ts";
import {
  type OrderedUsers,
  type UserOrder,
  type UserRange,
  userBoards,
  userPartition,
  userShardPartition,
  usersInRange,
  walkNamedUsers,
  walkUsers,
} from "../../users/mod.ts";
import { inGroups } from "../batch/groups.ts";
import type { Bounds } from "./demands.ts";
import { type Place, printPlace } from "./search_cursor.ts";
import { type Candidate, type Walk, walkShards } from "./shard_walk.ts";

/** Whose users are walked over. */
export interface WalkOptions {
  readonly store: Store;
  readonly organisationId: string;
}

/** Users by their creation, shard by shard. */
export function walkAll(
  { store, organisationId }: WalkOptions,
  from: Extract<Place, { walk: "all" | "rest" }>,
  created: Bounds | undefined,
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
    print: (shard, after) => printPlace({ ...from, shard, after }),
  });
}

/** Users in a range of an index, shard by shard and by their ids. */
export function walkRange(
  { store, organisationId }: WalkOptions,
  from: Extract<Place, { walk: "range" }>,
  range: UserRange,
): Walk {
  const loaded = new Map<number, readonly string[]>();
  async function idsOf(shard: number): Promise<readonly string[]> {
    const known = loaded.get(shard);
    if (known !== undefined) return known;
    const entries = await usersInRange(store, userShardPartition(organisationId, shard), range);
    const ids = entries.map(({ member }) => member).sort(compareUtf8);
    loaded.set(shard, ids);
    return ids;
  }
  const begin = { shard: from.shard, after: from.after === "" ? null : from.after };
  return walkShards<string>(begin, {
    async load(shard, after, limit) {
      const ids = await idsOf(shard);
      const rest = after === null ? ids : ids.filter(id => compareUtf8(id, after) > 0);
      return { entries: rest.slice(0, limit), isEnd: rest.length <= limit };
    },
    candidate: (userId, nth) => ({ userId, createdAt: null, nth }),
    print: (shard, after) => printPlace({ ...from, shard, after: after ?? "" }),
  });
}

/** Named users by their ids. */
export function walkNamed(from: Extract<Place, { walk: "named" }>, userIds: readonly string[]): Walk {
  const waiting = userIds.filter(userId => compareUtf8(userId, from.after) > 0).sort(compareUtf8);
  const placeAfter = ({ userId }: Pick<Candidate, "userId">): string =>
    printPlace({ walk: "named", after: userId });
  return {
    async next(count) {
      const candidates = waiting.splice(0, count).map((userId, nth) => ({ userId, createdAt: null, nth }));
      const last = candidates.at(-1);
      const isEnd = waiting.length === 0 || last === undefined;
      return { candidates, place: isEnd ? null : placeAfter(last), placeAfter };
    },
  };
}

/** An order that was asked for. */
export interface SortOrder {
  /** The board of its values. */
  readonly key: string;
  readonly direction: WalkDirection;
  /** Where the values of a user may change. */
  readonly moves: "never" | "score" | "tie";
  /** Values outside these are left out. */
  readonly bounds: Bounds | undefined;
  /** The only users that are asked for; null: all. */
  readonly userIds: readonly string[] | null;
}

/** Users in an order. */
export async function walkOrder(
  options: WalkOptions,
  from: Extract<Place, { walk: "order" }>,
  { key, direction, moves, bounds, userIds }: SortOrder,
): Promise<Walk> {
  const order: UserOrder = { key, direction, min: bounds?.min, max: bounds?.max };
  const walked = { ...options, after: from.after };
  const users: OrderedUsers =
    userIds === null ? walkUsers(walked, order) : await walkNamedUsers(walked, order, userIds);
  const hasStayed = (entry: BoardEntry): boolean => moves === "never" || entry[moves] <= from.at;
  return {
    async next(count) {
      const entries = await users.next(count);
      const stayed = entries.filter(hasStayed);
      const candidates = stayed.map(({ member, score }, nth) => ({
        userId: member,
        createdAt: key === userBoards.created ? score : null,
        nth,
      }));
      const last = entries.at(-1);
      const isEnd = last === undefined || entries.length < count;
      const place = isEnd ? null : printPlace({ ...from, after: last });
      return {
        candidates,
        place,
        placeAfter: ({ nth }) => printPlace({ ...from, after: stayed[nth] ?? null }),
      };
    },
  };
}

/** Users whom an order does not have, by their creation. */
export function walkRest(
  options: WalkOptions,
  from: Extract<Place, { walk: "rest" }>,
  { key, userIds }: Pick<SortOrder, "key" | "userIds">,
): Walk {
  const { store, organisationId } = options;
  const named = userIds === null ? null : new Set(userIds);
  const all = walkAll(options, from, undefined);
  return {
    async next(count) {
      const { candidates: found, ...part } = await all.next(count);
      const candidates = found.filter(({ userId }) => named?.has(userId) ?? true);
      const groups = inGroups(candidates, ({ userId }) => userPartition(organisationId, userId));
      const absent = await Promise.all(
        groups.map(async group => {
          const queries = group.map(({ userId: member }) => ({ type: "standing", key, member }) as const);
          const standings = await store.read(userPartition(organisationId, group[0]?.userId ?? ""), queries);
          return group.filter((_, index) => standings[index] === null);
        }),
      );
      return { ...part, candidates: absent.flat() };
    },
  };
}
