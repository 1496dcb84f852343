/**
 * Listing users who are on record and were there before the index was, or before it listed them.
 *
 * @module
 */

import type { Partition, Read, Result, Store } from "../storage/mod.ts";
import {
  type AccountNote,
  type ListedAccount,
  noteAccount,
  parseAccountNote,
  readAccountNote,
} from "./listed_users.ts";
import { activityWrites, listingWrites, organisationWrites } from "./listing.ts";
import { organisationsPartition, userBoards, userPartition } from "./places.ts";

/** Most users who are listed in one go. */
export const recordedUsersMax = 200;

/** A user of whom something is on record. */
export interface RecordedUser extends Pick<ListedAccount, "organisationId" | "userId"> {
  /** When the user came, Unix ms. */
  readonly cameAt: number;
  /** When something last happened to the user as far as that is on record, Unix ms. */
  readonly lastActiveAt: number;
  /** How the user signed up; null where the user did not, or nobody knows. */
  readonly account: Pick<AccountNote, "projectId" | "provider"> | null;
}

/** What listing users who are on record needs. */
export interface RecordedUsersOptions {
  readonly store: Store;
  /** Where a user's own records are. */
  readonly partitionOf: (user: Pick<ListedAccount, "organisationId" | "userId">) => Partition;
}

/**
 * Lists those of up to {@linkcode recordedUsersMax} users whom the index does not list, and notes how they signed up where
 * something else or nothing is noted. Whoever is listed stays where that is, so that walks which are under way still meet everybody once; whoever is
 * removed is left out. Answers how many were listed.
 */
export async function listRecordedUsers(
  options: RecordedUsersOptions,
  users: readonly RecordedUser[],
): Promise<number> {
  const { store } = options;
  const there = await Promise.all(users.map(async user => ((await isThere(options, user)) ? [user] : [])));
  const shards = new Map<Partition, RecordedUser[]>();
  for (const user of there.flat()) {
    const place = userPartition(user.organisationId, user.userId);
    const shard = shards.get(place);
    if (shard === undefined) shards.set(place, [user]);
    else shard.push(user);
  }
  const organisations = users.flatMap(user => organisationWrites(user.organisationId, user.cameAt));
  await store.commit(organisationsPartition(), { writes: organisations });
  const listed = await Promise.all([...shards].map(([place, some]) => listAbsent(store, place, some)));
  return listed.reduce((sum, count) => sum + count, 0);
}

/** Whether the user is not removed. Notes how the user signed up before the user is listed, as signing up does. */
async function isThere(options: RecordedUsersOptions, user: RecordedUser): Promise<boolean> {
  const { account, ...ids } = user;
  if (account !== null) return await noteAccount(options, { ...ids, ...account });
  const [stored] = await options.store.read(options.partitionOf(user), [readAccountNote]);
  return (parseAccountNote(stored)?.removedAt ?? null) === null;
}

async function listAbsent(store: Store, place: Partition, users: readonly RecordedUser[]): Promise<number> {
  const queries = users.map(
    ({ userId }): Read => ({
      type: "standing",
      key: userBoards.created,
      member: userId,
    }),
  );
  const standings = (await store.read(place, queries)) as readonly Result<Read>[];
  const absent = users.filter((_, index) => standings[index] === null);
  const writes = absent.flatMap(({ userId, cameAt, lastActiveAt }) => [
    ...listingWrites(userId, cameAt),
    ...activityWrites(userId, lastActiveAt),
  ]);
  if (writes.length > 0) await store.commit(place, { writes });
  return new Set(absent.map(({ userId }) => userId)).size;
}
