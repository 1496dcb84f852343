import { normaliseEmail } from "../email.ts";
import type { LookupKey } from "../lookup_keys.ts";
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
  await Promise.all(keysOf(users, user).map(key => users.release(projectId, key, userId)));
  await users.remove(projectId, userId);
}

function keysOf(users: Users, user: User): LookupKey[] {
  const { registration, account, origin } = user;
  return [
    { kind: "external", externalId: users.externalIdOf(user) },
    ...(registration === undefined ? [] : [{ kind: "device" as const, ...registration }]),
    ...(account === undefined ? [] : [{ kind: "email" as const, email: normaliseEmail(account.email) }]),
    ...(origin === undefined ? [] : [{ kind: "origin" as const, ...origin }]),
  ];
}
