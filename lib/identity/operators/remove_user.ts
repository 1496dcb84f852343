import { normaliseEmail } from "../codes/email.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { User, Users, Way } from "../users.ts";

/** Removes what other areas show of a user who is removed. It may be called again after it was interrupted. */
export type OnRemove = (projectId: string, userId: string) => Promise<void>;

/** What removing users works with. */
export interface RemovalOptions {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly onRemove: OnRemove;
}

/**
 * Ends the sessions of a user, lets other areas remove what they show of it, gives up every way to it and removes its
 * records. The user's record goes last, so that an interrupted removal can be repeated.
 */
export async function removeUser(
  { users, sessions, onRemove }: RemovalOptions,
  projectId: string,
  user: User,
): Promise<void> {
  const { userId } = user;
  await sessions.revokeAll(projectId, userId);
  await onRemove(projectId, userId);
  await Promise.all(waysTo(user).map(way => users.release(projectId, way, userId)));
  await users.remove(projectId, userId);
}

function waysTo({ externalId, registration, account, origin }: User): Way[] {
  return [
    { kind: "external", externalId },
    ...(registration === undefined ? [] : [{ kind: "device" as const, ...registration }]),
    ...(account === undefined ? [] : [{ kind: "email" as const, email: normaliseEmail(account.email) }]),
    ...(origin === undefined ? [] : [{ kind: "origin" as const, ...origin }]),
  ];
}
