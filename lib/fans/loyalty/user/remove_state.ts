/**
 * Removal of a user's loyalty: balances, history, notifications, profile and marks, in one commit.
 *
 * @module
 */

import { decide, type ReadRecord, type RecordCache, type Store, type Write } from "../../../storage/mod.ts";
import { readAccountNote, signUpProjectOf } from "../../users/mod.ts";
import { votesKeys } from "../votes/votes.ts";
import { readWholeHistory } from "./read_history.ts";
import { emptyState, profileKey, type SpaceUser, spaceUserPartition, type UserState } from "./state.ts";
import {
  onceMarkKeys,
  parseState,
  readState,
  reversalGenerationsRead,
  reversalMarkKeys,
} from "./stored_state.ts";

const records = [readState.key, reversalGenerationsRead.key, "inbox", "webhooks", profileKey];

const logs = ["history", "notifications"];

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
 * Removes the state of a user, and before it that of users who merged into it; it may be repeated. The record `account` stays: it holds no more than that the user is
 * removed, so that the index of users does not list the user again.
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
  for (const userId of merged) await removeUserState(store, states, { ...user, userId });
  await decide(store, spaceUserPartition(user), {
    reads: [readState, reversalGenerationsRead],
    apply: ([stored, reversed]) => {
      const state = stored === null ? emptyState(null) : parseState(stored.value);
      const tallies = [...onceMarkKeys(state), ...votesKeys(state), ...reversalMarkKeys(reversed)];
      const writes: Write[] = [
        ...records.map(key => ({ type: "delete", shape: "record", key }) as const),
        ...logs.map(key => ({ type: "delete", shape: "log", key }) as const),
        ...tallies.map(key => ({ type: "delete", shape: "tally", key }) as const),
      ];
      return { writes, answer: undefined };
    },
  });
}
