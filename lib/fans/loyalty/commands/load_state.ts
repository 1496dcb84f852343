/**
 * Loading a user's state for readers: created where there is none, and advanced to now where time has changed it.
 *
 * @module
 */

import type { DueUserQueue } from "../due_users/mod.ts";
import { isDue } from "../engine/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { UserState } from "../user/state.ts";
import type { CommandDecision } from "./command.ts";
import type { CommandRunner } from "./command_runner.ts";
import { joinProject } from "./join_project.ts";

/**
 * Loads the state of a user, with the board scores to deliver, and creates an empty one where there is none. A state that a back
 * end created before the user's project was known joins the project.
 */
export async function loadOrCreateState(
  services: LoyaltyServices,
  dueUsers: DueUserQueue,
  user: SpaceUser,
): Promise<Pick<CommandDecision, "state" | "updates">> {
  const { store, users, states } = services;
  const cachedUser = users.get(user);
  const { partition } = cachedUser;
  const [stored] = await store.read(partition, [states.query]);
  const state = stored === null ? null : states.valueOf(partition, stored);
  const lacksProject = state !== null && state.projectId === null && user.projectId !== null;
  if (state !== null && !lacksProject) {
    cachedUser.hasRecord = true;
    return { state, updates: cachedUser.undelivered(state.undelivered) };
  }
  if (state === null && cachedUser.hasRecord) cachedUser.forget();
  await dueUsers.register(cachedUser);
  return await joinProject(services, cachedUser, user.projectId);
}

interface ReadSettledServices extends LoyaltyServices {
  /** Finishes redemptions that a stopped process left; false where there are none. */
  readonly finishInterrupted: (user: SpaceUser, state: UserState) => Promise<boolean>;
}

/**
 * Reads something of a user, after what time alone has changed is stored and interrupted redemptions are finished: lists then agree
 * with balances. Where there is nothing to do, the check costs no further round trip.
 */
export async function readSettled<T>(
  { store, clock, states, finishInterrupted }: ReadSettledServices,
  commands: CommandRunner,
  user: SpaceUser,
  read: () => Promise<T>,
): Promise<T> {
  const partition = spaceUserPartition(user);
  const [[stored], found] = await Promise.all([store.read(partition, [states.query]), read()]);
  if (stored === null) return found;
  const state = states.valueOf(partition, stored);
  const isTimeDue = isDue(state, clock());
  if (isTimeDue) await commands.run(user, () => ({}));
  return (await finishInterrupted(user, state)) || isTimeDue ? await read() : found;
}
