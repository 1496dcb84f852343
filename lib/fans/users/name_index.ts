/**
 * The index of registered names: built from records for users who signed up before it, and read by searches.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import {
  type BoardEntry,
  type Partition,
  type ReadRecord,
  readPageAfter,
  type Store,
} from "../../storage/mod.ts";
import {
  type AccountNote,
  builtAsOf,
  indexPartition,
  nameWrites,
  noteAccount,
  parseAccountNote,
  readAccountNote,
  userBoards,
  userShardPartitions,
} from "./user_index.ts";

/** Number of users whose records are read at the same time. */
const concurrency = 200;

/** Says that the index of an organisation is complete. */
export const readNamesBuilt: ReadRecord = { type: "record", key: "names" };

interface UserName {
  readonly organisationId: string;
  readonly userId: string;
}

/** The records from which the index is built. */
export interface NameSource {
  readonly store: Store;
  readonly clock: Clock;
  readonly partitionOf: (user: UserName) => Partition;
  /** Returns the registered name of a user of a project; null where there is none. */
  readonly nameOf: (projectId: string, userId: string) => Promise<string | null>;
}

/** Lists every user under the registered name. It may be interrupted and repeated. Returns the number of users that it read. */
export async function buildNameIndex(source: NameSource, organisationId: string): Promise<number> {
  const { store, clock } = source;
  let examined = 0;
  for (const partition of userShardPartitions(organisationId)) {
    for (let after: BoardEntry | null = null; ; ) {
      const query = { key: userBoards.created, direction: "asc", after, limit: concurrency } as const;
      const { entries, isEnd } = await readPageAfter(store, partition, query);
      const writes = await Promise.all(
        entries.map(async ({ member: userId }) => {
          const name = await registeredName(source, { organisationId, userId });
          return name === null ? [] : nameWrites(userId, name, builtAsOf);
        }),
      );
      if (writes.some(some => some.length > 0)) await store.commit(partition, { writes: writes.flat() });
      examined += entries.length;
      after = entries.at(-1) ?? after;
      if (isEnd) break;
    }
  }
  await store.commit(indexPartition(organisationId), {
    writes: [{ type: "put", key: readNamesBuilt.key, value: String(clock()) }],
  });
  return examined;
}

/** Returns the name of an account note, which is completed where an earlier version wrote it; null without an account. */
async function registeredName(source: NameSource, user: UserName): Promise<string | null> {
  const { store, partitionOf, nameOf } = source;
  const [stored] = await store.read(partitionOf(user), [readAccountNote]);
  const note: AccountNote | null = parseAccountNote(stored);
  if (note === null || note.removedAt !== null) return null;
  if (note.name !== undefined) return note.name;
  const name = await nameOf(note.projectId, user.userId);
  if (name === null) return null;
  const { projectId, provider } = note;
  return (await noteAccount(source, { ...user, projectId, provider, name })) ? name : null;
}
