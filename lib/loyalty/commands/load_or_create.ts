/**
 * The state of a user who is met: found, created, or told which project it belongs to.
 *
 * @module
 */

import type { ScoreFeed, ScoreTarget, ScoreUpdate } from "../../leaderboards/mod.ts";
import { decide, type ReadRecord, type RecordCache, type Rule, type Store } from "../../storage/mod.ts";
import type { DueUserQueue } from "../due_users/mod.ts";
import { type Member, memberPartition, type UserCache } from "../user/member.ts";
import { emptyState, type UserState } from "../user/state.ts";
import { totalScores } from "./scores.ts";

/** A user's state, and the board scores that are to be delivered for it. */
export interface LoadedUser {
  readonly state: UserState;
  readonly updates: readonly ScoreUpdate[];
}

/** What meeting a user needs beside the store. */
export interface LoadStateOptions {
  readonly users: UserCache;
  readonly feed: ScoreFeed;
  /** What was parsed of users' records. */
  readonly states: RecordCache<UserState>;
  readonly agenda: DueUserQueue;
}

const everyTotal = { action: "", eventId: null, at: 0 } as const;

/**
 * The state of a user; an empty one is created where there is none. A state that a back end created before the user's
 * project was known learns it now, and what the user has by then goes to the boards.
 */
export async function loadOrCreateState(
  store: Store,
  member: Member,
  { users, feed, states, agenda }: LoadStateOptions,
): Promise<LoadedUser> {
  const user = users.get(member);
  const { partition } = user;
  const [stored] = await store.read(partition, [states.query]);
  const state = stored === null ? null : states.valueOf(partition, stored);
  if (state !== null && (state.projectId !== null || member.projectId === null)) {
    return { state, updates: user.undelivered(state.undelivered) };
  }
  const { organisationId, projectId } = member;
  const targets = projectId === null ? [] : await feed.targets(projectId, { organisationId, ...everyTotal });
  await agenda.register(user);
  return await decide(store, partition, assignProjectRule(member, targets, states));
}

function assignProjectRule(
  member: Member,
  targets: readonly ScoreTarget[],
  states: RecordCache<UserState>,
): Rule<readonly [ReadRecord], LoadedUser> {
  return {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      const before =
        stored === null ? emptyState(member.projectId) : states.valueOf(memberPartition(member), stored);
      if (stored !== null && (before.projectId !== null || member.projectId === null)) {
        return { writes: [], answer: { state: before, updates: before.undelivered } };
      }
      const updates = totalScores(before, targets);
      const { projectId } = member;
      const state: UserState = {
        ...before,
        projectId,
        undelivered: [...before.undelivered, ...updates],
      };
      return { writes: [states.put(state)], answer: { state, updates: state.undelivered } };
    },
  };
}
