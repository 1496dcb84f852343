import type { Store } from "../../storage/mod.ts";
import { type DueUser, dueUserKeys, dueUserShards, dueUsersPartition, userOfBoardMember } from "./shards.ts";

/** Number of users that are read at a time. */
export const indexPageMax = 1_000;

/** A user of an index, and when the user was first met, in Unix ms. */
export interface ListedUser extends DueUser {
  readonly firstSeenAt: number;
}

/**
 * Every user of an organisation who has ever done anything, shard by shard and in the order in which they came. Users
 * who come or are removed while the walk is under way may or may not be met; nobody is met twice.
 */
export async function* listUsersOf(store: Store, organisationId: string): AsyncGenerator<ListedUser, void> {
  for (let shard = 0; shard < dueUserShards; shard++) yield* usersOfShard(store, organisationId, shard);
}

/** A page begins after those already met with the score at which the page before ended, so removals shift little. */
async function* usersOfShard(
  store: Store,
  organisationId: string,
  shard: number,
): AsyncGenerator<ListedUser, void> {
  const partition = dueUsersPartition(organisationId, shard);
  let min = 0;
  let met: ReadonlySet<string> = new Set();
  for (;;) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: dueUserKeys.users, min, offset: met.size, limit: indexPageMax },
    ]);
    for (const { member, score } of entries) {
      if (!met.has(member)) yield { ...userOfBoardMember(organisationId, member), firstSeenAt: score };
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < indexPageMax) return;
    const there = entries.filter(({ score }) => score === last.score).map(({ member }) => member);
    met = new Set(last.score === min ? [...met, ...there] : there);
    min = last.score;
  }
}
