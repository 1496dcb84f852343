/** Everything that the platform keeps about one person, from the records that each area declares. */

import { type DeadLetterQueue, deadActionRecords } from "../fans/audience/worker/dead_letter_queue.ts";
import { directoryPartition, projectsKey, spacesKey } from "../fans/directory/records.ts";
import type { UserData } from "../fans/exports/mod.ts";
import type { Sessions } from "../fans/identity/mod.ts";
import { identityRecords, mergedUserKind } from "../fans/identity/user_records.ts";
import type { Leaderboards } from "../fans/leaderboards/mod.ts";
import type { Loyalty } from "../fans/loyalty/mod.ts";
import type { Partition, Store, UserRecordKind, UserRecords } from "../storage/mod.ts";

/** Records about users that no area reads for itself: their partitions are of others, or of nobody. */
const others: readonly UserRecordKind[] = [
  {
    name: "answer",
    description: "A text that the user sent to an element, and digests that say that it was sent",
    stored: ["project/directory answers", "project/directory sent"],
    removal: "stays",
    reason: "Nothing in it names the user. Its digests expire after 14 days",
    leftOut: "The platform does not know whose text it is",
  },
  {
    name: "idempotentRequest",
    description: "The answer to a request with an idempotency key",
    stored: ["organisation/idempotency request", "platform/idempotency request"],
    removal: "expires",
    reason: "A repeated request is answered as the first one for a day",
    leftOut: "It is stored by the key of the request and not by user",
  },
  {
    name: "export",
    description: "A file of users that a back end requested, and who requested and received data",
    stored: ["organisation/exports job", "organisation/exports trail"],
    removal: "expires",
    reason: "Files expire after the time that the organisation sets; the trail shows who received data",
    leftOut: "A file repeats values of other records",
  },
];

type Format = typeof import("./user_data_format.ts");
let format: Format | undefined;

/** Loads the form of the records, once in a process. */
export async function loadFormat(): Promise<Format> {
  format ??= await import("./user_data_format.ts");
  return format;
}

interface UserDataServices {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly leaderboards: Pick<Leaderboards, "userRecords">;
  readonly loyalty: Pick<Loyalty, "userRecords">;
  readonly deadLetters: Pick<DeadLetterQueue, "list">;
}

export function createUserData(services: UserDataServices): UserData {
  const { store, leaderboards, loyalty, deadLetters } = services;
  const areas: readonly UserRecords[] = [
    identityRecords(services),
    loyalty.userRecords,
    leaderboards.userRecords,
    deadActionRecords(deadLetters),
  ];
  const kinds = [...areas.flatMap(area => area.kinds), ...others];
  return {
    kinds,
    async describe() {
      const { membersOf } = await loadFormat();
      return kinds.map(({ stored: _, name: kind, ...rest }) => {
        const members = membersOf(kind);
        return members === undefined ? { kind, ...rest } : { kind, ...rest, members };
      });
    },
    dataSchemas: async () => (await loadFormat()).dataSchemas(),
    async *read(organisationId, userId) {
      const { shownData } = await loadFormat();
      const projectIds = await projectsOf(store, organisationId);
      const waiting = [userId];
      for (const id of waiting) {
        for (const area of areas) {
          for await (const record of area.read({ organisationId, userId: id, projectIds })) {
            const merged = record.kind === mergedUserKind ? [String(record.data)] : [];
            waiting.push(...merged.filter(from => !waiting.includes(from)));
            yield { userId: id, ...record, data: shownData(record.kind, record.data) };
          }
        }
      }
    },
  };
}

async function projectsOf(store: Store, organisationId: string): Promise<readonly string[]> {
  const spaces = await idsIn(store, directoryPartition("organisation", organisationId), spacesKey);
  const projects = spaces.map(id => idsIn(store, directoryPartition("space", id), projectsKey));
  return (await Promise.all(projects)).flat();
}

async function idsIn(store: Store, partition: Partition, key: string): Promise<readonly string[]> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  return stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
}
