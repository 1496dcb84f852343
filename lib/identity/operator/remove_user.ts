import { normaliseEmail } from "../codes/email.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { User, Users, Way } from "../users.ts";

/**
 * Ends the sessions of a user, gives up every way to it and removes its records. What other areas keep under its id stays:
 * boards show the score without a name. The user's record goes last, so that an interrupted removal can be repeated.
 */
export async function removeUser(
  { users, sessions }: { readonly users: Users; readonly sessions: Sessions },
  projectId: string,
  user: User,
): Promise<void> {
  const { userId } = user;
  await sessions.revokeAll(projectId, userId);
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
