import type { IdentityContext } from "../context.ts";
import type { User } from "../users.ts";

/** The devices of a user as profiles show them, each with the session record of its last login. */
export function deviceItems(
  { records }: Pick<IdentityContext, "records">,
  projectId: string,
  { userId, externalId, signUp, devices }: User,
): readonly Readonly<Record<string, unknown>>[] {
  return devices.map(({ deviceId, lastLogin }) => {
    const facts = { deviceId, timeStamp: lastLogin, externalId, userId, signUp };
    const { signature, timeStamp } = records.issue(projectId, facts);
    return { deviceId, lastLogin, signUp, userId, timeStamp, signature };
  });
}
