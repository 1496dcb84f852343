/**
 * Recounts of users for boards that are rebuilt.
 *
 * @module
 */

import type { Earning, RecountedSum, UserEarnings } from "../../leaderboards/mod.ts";
import { readAccountNote, signUpProjectOf } from "../../users/mod.ts";
import type { DueUserQueue } from "../due_users/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { readEarnings } from "../user/read_history.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { UserState } from "../user/state.ts";
import type { CommandRunner } from "./command_runner.ts";
import { decideWithEarnings } from "./history_decision.ts";
import { joinProject } from "./join_project.ts";
import { withRecountedSum } from "./scores.ts";

/**
 * Reads what a user gained; null where there is no such user. Corrects the running sum to it, whatever the user does meanwhile, and
 * gives a user without a project that of the sign-up.
 */
export async function recountUser(
  services: LoyaltyServices & { readonly commands: CommandRunner; readonly dueUsers: DueUserQueue },
  user: SpaceUser,
  sum: RecountedSum | null,
): Promise<UserEarnings | null> {
  const found = await readAndCorrect(services, user, sum);
  if (found?.projectId !== null) return found;
  const { store, users, commands, dueUsers } = services;
  const [account] = await store.read(spaceUserPartition(user), [readAccountNote]);
  if (signUpProjectOf(account) === null) return found;
  await dueUsers.register(user, { isActivity: false });
  commands.deliver(user, await joinProject(services, users.get(user), null));
  return await readAndCorrect(services, user, sum);
}

async function readAndCorrect(
  services: LoyaltyServices,
  user: SpaceUser,
  sum: RecountedSum | null,
): Promise<UserEarnings | null> {
  const { store, states, clock } = services;
  const { state, earnings } = await readEarnings(store, states, user);
  if (state === null || state.mergedInto !== null) return null;
  const found = userEarnings(state, earnings);
  if (sum === null || withRecountedSum(state, sum, { earnings: found, now: clock() }) === state) return found;
  return await decideWithEarnings(services, user, ({ state: stored, earnings: recorded }) => {
    if (stored === null || stored.mergedInto !== null) return { writes: [], answer: null };
    const answer = userEarnings(stored, recorded);
    const corrected = withRecountedSum(stored, sum, { earnings: answer, now: clock() });
    return { writes: corrected === stored ? [] : [states.put(corrected)], answer };
  });
}

function userEarnings(
  { projectId, revision, changedAt, metrics }: UserState,
  earnings: readonly Earning[],
): UserEarnings {
  return { projectId, revision, changedAt, metrics, earnings };
}
