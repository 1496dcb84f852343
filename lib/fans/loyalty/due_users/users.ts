/**
 * The users of an organisation on the boards of their shards: when each is due, and the list of all of them.
 *
 * @module
 */

import type { Store } from "../../../storage/mod.ts";
import { userShardPartition, userShardPartitions, userShards } from "../../users/mod.ts";
import type { UserKey } from "../user/space_user.ts";

/** A user whom the sweep looks at. */
export type DueUser = UserKey;

/** The keys of a shard. */
export const dueUserKeys = {
  /** Board: when to look at a user next, in Unix ms. */
  due: "due",
  /** Board: when a user was first seen, in Unix ms. */
  users: "users",
} as const;

/** Number of users that are read at a time. */
const pageMax = 1_000;

export interface ListedUser extends DueUser {
  /** Unix ms. */
  readonly firstSeenAt: number;
}

/** Returns a user's name on the boards of a shard. Ids of spaces have no slash. */
export function boardMemberOf({ spaceId, userId }: DueUser): string {
  return `${spaceId}/${userId}`;
}

/** Returns the user of a name on the boards of a shard. */
export function userOfBoardMember(organisationId: string, member: string): DueUser {
  const slash = member.indexOf("/");
  return { organisationId, spaceId: member.slice(0, slash), userId: member.slice(slash + 1) };
}

/**
 * Iterates over every user of an organisation who has ever done anything, shard by shard, first seen first. Users who come or are
 * removed meanwhile may be left out; none is listed twice.
 */
export async function* listUsersOf(store: Store, organisationId: string): AsyncGenerator<ListedUser, void> {
  for (let shard = 0; shard < userShards; shard++) yield* usersOfShard(store, organisationId, shard);
}

/** Pages by score, after the users already listed with the last score, so that removals shift little. */
async function* usersOfShard(
  store: Store,
  organisationId: string,
  shard: number,
): AsyncGenerator<ListedUser, void> {
  const partition = userShardPartition(organisationId, shard);
  let min = 0;
  let listed: ReadonlySet<string> = new Set();
  for (;;) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: dueUserKeys.users, min, offset: listed.size, limit: pageMax },
    ]);
    for (const { member, score } of entries) {
      if (!listed.has(member)) yield { ...userOfBoardMember(organisationId, member), firstSeenAt: score };
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < pageMax) return;
    const ofLastScore = entries.filter(({ score }) => score === last.score).map(({ member }) => member);
    listed = new Set(last.score === min ? [...listed, ...ofLastScore] : ofLastScore);
    min = last.score;
  }
}

/** Returns when the work of a user of an organisation was due first, in Unix ms; null where none is planned. */
export async function oldestDueUser(store: Store, organisationId: string): Promise<number | null> {
  const query = { type: "board", key: dueUserKeys.due, limit: 1 } as const;
  const firsts = await Promise.all(
    userShardPartitions(organisationId).map(async partition => {
      const [{ entries }] = await store.read(partition, [query]);
      return entries[0]?.score ?? Number.POSITIVE_INFINITY;
    }),
  );
  const first = Math.min(...firsts);
  return Number.isFinite(first) ? first : null;
}
