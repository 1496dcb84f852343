import type { Store } from "../../storage/mod.ts";
import { agendaKeys, agendaPartition, agendaShards, type Indexed, indexedUser } from "./shards.ts";

/** Number of users that are read at a time. */
export const indexPageMax = 1_000;

/** A user of an index, and when the user was first met, in Unix ms. */
export interface MetUser extends Indexed {
  readonly metAt: number;
}

/**
 * Every user of an organisation who has ever done anything, shard by shard and in the order in which they came. Users
 * who come or are removed while the walk is under way may or may not be met; nobody is met twice.
 */
export async function* indexedUsers(store: Store, organisationId: string): AsyncGenerator<MetUser, void> {
  for (let shard = 0; shard < agendaShards; shard++) yield* usersOfShard(store, organisationId, shard);
}

/** A page begins after those already met with the score at which the page before ended, so removals shift little. */
async function* usersOfShard(
  store: Store,
  organisationId: string,
  shard: number,
): AsyncGenerator<MetUser, void> {
  const partition = agendaPartition(organisationId, shard);
  let min = 0;
  let met: ReadonlySet<string> = new Set();
  for (;;) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: agendaKeys.users, min, offset: met.size, limit: indexPageMax },
    ]);
    for (const { member, score } of entries) {
      if (!met.has(member)) yield { ...indexedUser(organisationId, member), metAt: score };
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < indexPageMax) return;
    const there = entries.filter(({ score }) => score === last.score).map(({ member }) => member);
    met = new Set(last.score === min ? [...met, ...there] : there);
    min = last.score;
  }
}
