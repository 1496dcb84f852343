/**
 * Loading a user's state for readers: created where there is none, and advanced to now where time has changed it.
 *
 * @module
 */

import type { ScoreTarget } from "../../leaderboards/mod.ts";
import { decide, type ReadRecord, type RecordCache, type Rule } from "../../storage/mod.ts";
import type { DueUserQueue } from "../due_users/mod.ts";
import { isDue } from "../engine/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { emptyState, type UserState } from "../user/state.ts";
import type { CommandDecision } from "./command.ts";
import type { CommandRunner } from "./command_runner.ts";
import { totalScores } from "./scores.ts";

const everyTotal = { action: "", eventId: null, at: 0 } as const;

/**
 * Loads the state of a user, with the board scores to deliver, and creates an empty one where there is none. A state that a back end created before the user's project
 * was known is given the project, and the user's scores go to its boards.
 */
export async function loadOrCreateState(
  { store, users, feed, states }: LoyaltyServices,
  dueUsers: DueUserQueue,
  user: SpaceUser,
): Promise<Pick<CommandDecision, "state" | "updates">> {
  const cachedUser = users.get(user);
  const { partition } = cachedUser;
  const [stored] = await store.read(partition, [states.query]);
  const state = stored === null ? null : states.valueOf(partition, stored);
  if (state !== null && !lacksProject(state, user)) {
    return { state, updates: cachedUser.undelivered(state.undelivered) };
  }
  const { organisationId, projectId } = user;
  const targets = projectId === null ? [] : await feed.targets(projectId, { organisationId, ...everyTotal });
  await dueUsers.register(cachedUser);
  return await decide(store, partition, createStateRule(user, targets, states));
}

/**
 * Reads something of a user, after what time alone has changed is stored: lists then agree with balances. Where nothing is due, the
 * check costs no further round trip.
 */
export async function readSettled<T>(
  { store, clock, states }: LoyaltyServices,
  commands: CommandRunner,
  user: SpaceUser,
  read: () => Promise<T>,
): Promise<T> {
  const partition = spaceUserPartition(user);
  const [[stored], found] = await Promise.all([store.read(partition, [states.query]), read()]);
  if (stored === null || !isDue(states.valueOf(partition, stored), clock())) return found;
  await commands.run(user, () => ({}));
  return await read();
}

function createStateRule(
  user: SpaceUser,
  targets: readonly ScoreTarget[],
  states: RecordCache<UserState>,
): Rule<readonly [ReadRecord], Pick<CommandDecision, "state" | "updates">> {
  return {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      const { projectId } = user;
      const before =
        stored === null ? emptyState(projectId) : states.valueOf(spaceUserPartition(user), stored);
      if (stored !== null && !lacksProject(before, user)) {
        return { writes: [], answer: { state: before, updates: before.undelivered } };
      }
      const undelivered = [...before.undelivered, ...totalScores(before, targets)];
      const state: UserState = { ...before, projectId, undelivered };
      return { writes: [states.put(state)], answer: { state, updates: undelivered } };
    },
  };
}

function lacksProject(state: UserState, { projectId }: SpaceUser): boolean {
  return state.projectId === null && projectId !== null;
}
