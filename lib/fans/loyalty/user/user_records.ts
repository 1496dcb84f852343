/** What loyalty keeps about a user: read for copies of a person's data, and removed in one commit. */

import {
  decide,
  keyName,
  type ReadLog,
  type ReadRecord,
  type RecordCache,
  type Store,
  type UserRecord,
  type UserRecordKind,
  type UserRecords,
  type Write,
} from "../../../storage/mod.ts";
import { readAccountNote, signUpProjectOf } from "../../users/mod.ts";
import { unlistDueUser } from "../due_users.ts";
import { votesKeys } from "../votes/votes.ts";
import { parseEntry, ReadSize, readWholeHistory } from "./read_history.ts";
import { emptyState, profileKey, type SpaceUser, spaceUserPartition, type UserState } from "./state.ts";
import {
  onceMarkKeys,
  parseState,
  readState,
  reversalGenerationsRead,
  reversalMarkKeys,
} from "./stored_state.ts";

/** The records and logs of the partition, by the kind that a copy has of them. */
const records = {
  loyalty: readState.key,
  inbox: "inbox",
  webhooks: "webhooks",
  profile: profileKey,
} as const;
const logs = { history: "history", notification: "notifications" } as const;

const expiring = { removal: "expires", leftOut: "It repeats what the history has" } as const;

const kinds: readonly UserRecordKind[] = [
  {
    name: "loyalty",
    description: "Points, items, progress, coupons, counters and open redemptions",
    stored: ["organisation/loyalty loyalty"],
    removal: "removed",
  },
  {
    name: "history",
    description: "Every action, purchase, grant and correction with what it changed, oldest first",
    stored: ["organisation/loyalty history"],
    removal: "removed",
  },
  {
    name: "notification",
    description: "A notification of the user",
    stored: ["organisation/loyalty notifications"],
    removal: "removed",
  },
  {
    name: "inbox",
    description: "Which notifications were read",
    stored: ["organisation/loyalty inbox"],
    removal: "removed",
  },
  {
    name: "webhooks",
    description: "How far the history was delivered to webhooks",
    stored: ["organisation/loyalty webhooks"],
    removal: "removed",
  },
  {
    name: "votes",
    description: "Votes by element and option",
    stored: ["organisation/loyalty votes"],
    removal: "removed",
  },
  {
    name: "profile",
    description: "Display name, preferences and custom fields",
    stored: ["organisation/loyalty profile"],
    removal: "removed",
  },
  {
    name: "signUp",
    description: "The project, provider and name of the sign-up",
    stored: ["organisation/loyalty account"],
    removal: "stays",
    reason:
      "It then says no more than when the user was removed, so that late work does not list the user again",
  },
  {
    name: "onceMark",
    description: "Digests of ids that have taken effect",
    stored: [
      ...(["seen", "granted", "reversed", "merged"] as const).map(
        key => `organisation/loyalty ${key}` as const,
      ),
    ],
    removal: "removed",
    leftOut: "The history has the ids",
  },
  {
    name: "updateMark",
    description: "The id of an update of the profile",
    stored: ["organisation/loyalty update"],
    removal: "expires",
    reason: "A repeated update must change nothing for 7 days",
    leftOut: "It has no more than the version and time of the update",
  },
  {
    name: "index",
    description: "Where lists and searches find the user",
    stored: ["created", "active", "name", "metric", "field", "updates"].map(
      key => `organisation/agenda ${key}` as const,
    ),
    removal: "removed",
    leftOut: "It repeats values of other records",
  },
  {
    name: "seen",
    description: "The user's id among those who ever did anything",
    stored: ["organisation/agenda users"],
    removal: "removed",
    leftOut: "It repeats values of other records",
  },
  {
    name: "due",
    description: "The user's id among those whom background work looks at",
    stored: ["organisation/agenda due"],
    removal: "expires",
    reason: "Background work looks once more, and finds that nothing is left",
    leftOut: "It repeats values of other records",
  },
  {
    name: "voter",
    description: "The user's id among those who voted on an element",
    stored: ["project/voters voters"],
    removal: "stays",
    reason: "The id alone, in lists that are only added to. The votes themselves are removed",
    leftOut: "The votes name the element",
  },
  {
    name: "limitClaim",
    description: "A use of a rule that is limited for all users together",
    stored: ["organisation/limit claim"],
    ...expiring,
    reason: "A repeated action must not use the limit again for 14 days",
  },
  {
    name: "delivery",
    description: "A message about the user to a webhook that waits or was given up",
    stored: ["letter", "waiting", "dead"].map(key => `organisation/webhook ${key}` as const),
    ...expiring,
    reason: "It is sent, or kept for 14 days for you to send it again",
  },
];

/** Tests if something is kept about a user of the organisation, who is in the project, or in none. */
export async function isKeptUser(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  projectId: string,
): Promise<boolean> {
  const profileQuery: ReadRecord = { type: "record", key: profileKey };
  const [account, state, profile] = await store.read(spaceUserPartition(user), [
    readAccountNote,
    readState,
    profileQuery,
  ]);
  const project = signUpProjectOf(account) ?? (state === null ? null : parseState(state.value).projectId);
  return (state !== null || profile !== null) && (project === null || project === projectId);
}

/**
 * Removes the state of a user; it may be repeated. The record `account` stays: it holds no more than that the user is removed, so
 * that the index of users does not list the user again.
 */
export async function removeUserState(
  store: Store,
  states: RecordCache<UserState>,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<void> {
  const merged: string[] = [];
  await readWholeHistory(store, spaceUserPartition(user), states, ({ grant }) => {
    if (grant?.inheritance !== undefined) merged.push(grant.inheritance.from);
  });
  await decide(store, spaceUserPartition(user), {
    reads: [readState, reversalGenerationsRead],
    apply: ([stored, reversed]) => {
      const state = stored === null ? emptyState(null) : parseState(stored.value);
      const tallies = [...onceMarkKeys(state), ...votesKeys(state), ...reversalMarkKeys(reversed)];
      const writes: Write[] = [
        ...[...Object.values(records), reversalGenerationsRead.key, ...merged.map(mergeMark)].map(
          key => ({ type: "delete", shape: "record", key }) as const,
        ),
        ...Object.values(logs).map(key => ({ type: "delete", shape: "log", key }) as const),
        ...tallies.map(key => ({ type: "delete", shape: "tally", key }) as const),
      ];
      return { writes, answer: undefined };
    },
  });
  await unlistDueUser(store, user);
}

/** Removes the state of a user unless anything has happened to it. */
export async function removeUnusedState(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<void> {
  const newest: ReadLog = { type: "log", key: logs.history, limit: 1 };
  const isUnused = await decide(store, spaceUserPartition(user), {
    reads: [readState, newest],
    apply: ([, happened]) => {
      if (happened.length > 0) return { writes: [], answer: false };
      const keys = Object.values(records);
      return { writes: keys.map(key => ({ type: "delete", shape: "record", key }) as const), answer: true };
    },
  });
  if (isUnused) await unlistDueUser(store, user);
}

function mergeMark(userId: string): string {
  return keyName("merged", userId);
}

export function loyaltyRecords(store: Store): UserRecords {
  return { kinds, read: person => recordsOf(store, person) };
}

async function* recordsOf(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): AsyncGenerator<UserRecord, void> {
  const partition = spaceUserPartition(user);
  const names = Object.keys(records);
  const [account, ...found] = await store.read(partition, [
    readAccountNote,
    ...Object.values(records).map((key): ReadRecord => ({ type: "record", key })),
  ]);
  if (account !== null) yield { kind: "signUp", data: JSON.parse(account.value) };
  for (const [index, stored] of found.entries()) {
    if (stored !== null && index > 0) yield { kind: names[index] ?? "", data: JSON.parse(stored.value) };
  }
  const state = found[0] == null ? null : parseState(found[0].value);
  if (state !== null) yield { kind: "loyalty", data: state };
  for (const key of state === null ? [] : votesKeys(state)) {
    const [votes] = await store.read(partition, [{ type: "tally", key }]);
    if (votes.size > 0) yield { kind: "votes", data: Object.fromEntries(votes) };
  }
  for (const [kind, key] of Object.entries(logs)) {
    const size = new ReadSize();
    for (let cursor: string | undefined, isLast = false; !isLast; ) {
      const { limit } = size;
      const after = cursor === undefined ? {} : { cursor };
      const [entries] = await store.read(partition, [{ type: "log", key, limit, ...after }]);
      for (const entry of entries) {
        yield { kind, data: kind === "history" ? parseEntry(entry) : JSON.parse(entry.value) };
      }
      size.add(entries);
      cursor = entries.at(-1)?.id;
      isLast = entries.length < limit;
    }
  }
}
