import type { Sessions } from "../sessions/sessions.ts";
import type { User, Users } from "../users.ts";

/** Removes a user from other areas. It may be called again after an interruption. */
export type OnRemove = (projectId: string, userId: string) => Promise<void>;

/**
 * Ends the sessions of a user, removes it from other areas, releases its lookup keys and removes its records. The user's
 * record goes last, so that an interrupted removal can be repeated.
 */
export async function removeUser(
  services: { readonly users: Users; readonly sessions: Sessions; readonly onRemove: OnRemove },
  projectId: string,
  user: User,
): Promise<void> {
  const { users, sessions, onRemove } = services;
  const { userId } = user;
  await sessions.revokeAll(projectId, userId, { isFinal: true });
  await onRemove(projectId, userId);
  await Promise.all(users.keysOf(user).map(key => users.release(projectId, key, userId)));
  await users.remove(projectId, userId);
}
