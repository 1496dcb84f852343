/**
 * Reading what is on record of many users: one read of each user's partition, and one of a shard for what its index alone
 * knows.
 *
 * @module
 */

import type { Partition, Read, Result, Standing, Store } from "../../storage/mod.ts";
import { readAccountNote, userBoards, userPartition } from "../../users/mod.ts";
import { inGroups } from "../batch/groups.ts";
import { readProfileRecord } from "../profile/record.ts";
import type { SearchFacts, SpaceFacts } from "./facts.ts";
import { SearchedUser } from "./searched_user.ts";
import type { Candidate } from "./shard_walk.ts";

/** What is read of candidates beside their records. */
export interface ReadDemand {
  readonly organisationId: string;
  readonly space: SpaceFacts;
  readonly loyalty: boolean;
  readonly createdAt: boolean;
  readonly lastActiveAt: boolean;
}

/** What reading users needs. */
export interface UserReaderOptions {
  readonly store: Store;
  readonly facts: SearchFacts;
  /** Where a user's own records are. */
  readonly partitionOf: (user: { readonly organisationId: string; readonly userId: string }) => Partition;
}

/** Reads candidates, in their order. At most half of the queries of a read are needed for each. */
export async function readUsers(
  options: UserReaderOptions,
  demand: ReadDemand,
  candidates: readonly Candidate[],
): Promise<readonly SearchedUser[]> {
  const { store, facts, partitionOf } = options;
  const { organisationId, space } = demand;
  const queries = [readProfileRecord, readAccountNote, ...(demand.loyalty ? [facts.record] : [])];
  const [times, records] = await Promise.all([
    timesOf(store, demand, candidates),
    Promise.all(candidates.map(({ userId }) => store.read(partitionOf({ organisationId, userId }), queries))),
  ]);
  return candidates.map((candidate, index) => {
    const [profile = null, account = null, loyalty] = records[index] ?? [];
    const known = times?.get(candidate.userId);
    return new SearchedUser({
      candidate,
      space,
      profile,
      account,
      loyalty,
      createdAt: candidate.createdAt ?? known?.createdAt ?? null,
      lastActiveAt: known?.lastActiveAt ?? null,
    });
  });
}

interface Times {
  readonly createdAt: number | null;
  readonly lastActiveAt: number | null;
}

/** Null where nobody asks for what the index alone knows. */
async function timesOf(
  store: Store,
  { organisationId, createdAt, lastActiveAt }: ReadDemand,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<string, Times> | null> {
  const asksCreation = createdAt && candidates.some(candidate => candidate.createdAt === null);
  const keys: readonly string[] = [
    ...(asksCreation ? [userBoards.created] : []),
    ...(lastActiveAt ? [userBoards.active] : []),
  ];
  if (keys.length === 0) return null;
  const times = new Map<string, Times>();
  const placed = candidates.map(({ userId }) => ({ userId, place: userPartition(organisationId, userId) }));
  await Promise.all(
    inGroups(placed, ({ place }) => place).map(async group => {
      const queries = group.flatMap(({ userId: member }): Read[] =>
        keys.map(key => ({ type: "standing", key, member })),
      );
      const found = (await store.read(group[0]?.place ?? "", queries)) as readonly Result<Read>[];
      for (const [index, { userId }] of group.entries()) {
        const at = (key: string): number | null => {
          const column = keys.indexOf(key);
          return column === -1
            ? null
            : ((found[index * keys.length + column] as Standing | null)?.score ?? null);
        };
        times.set(userId, { createdAt: at(userBoards.created), lastActiveAt: at(userBoards.active) });
      }
    }),
  );
  return times;
}
