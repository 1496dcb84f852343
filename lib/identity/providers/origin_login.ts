import { invalidToken } from "../../auth/mod.ts";
import type { IdentityContext } from "../context.ts";
import type { OperationCall } from "../operations.ts";
import type { SessionTokens } from "../sessions/sessions.ts";
import { loggedIn, type User, unixSeconds } from "../users.ts";

/** A user whom another provider has just vouched for, with the tokens of a new session. */
export async function logInVouched(
  { users, sessions, clock }: IdentityContext,
  { project, request, info, note }: OperationCall,
  { userId, deviceId }: { readonly userId: string; readonly deviceId: string },
): Promise<{ readonly user: User; readonly tokens: SessionTokens }> {
  const now = unixSeconds(clock);
  const user = await users.update(project.id, userId, old => loggedIn(old, deviceId, now));
  if (user === null) throw invalidToken("user");
  const userAgent = request.headers.get("user-agent") ?? "";
  const address = info.address === undefined ? {} : { address: info.address };
  const { session, tokens } = await sessions.open(project, user, { deviceId, userAgent, ...address });
  note({ sessionId: session.sid, deviceId });
  return { user, tokens };
}
