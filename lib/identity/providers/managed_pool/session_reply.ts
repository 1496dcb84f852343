import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { OpenedSession } from "../../sessions/sessions.ts";
import { type User, unixSeconds } from "../../users.ts";

/** The session record with tokens, as login and password change answer it. */
export function sessionReply(
  { records, clock }: IdentityContext,
  projectId: string,
  opened: OpenedSession & { readonly user: User },
): Reply {
  const { session, tokens, user } = opened;
  const record = records.issue(projectId, {
    deviceId: session.deviceId,
    timeStamp: unixSeconds(clock),
    externalId: user.externalId,
    userId: user.userId,
    signUp: user.signUp,
  });
  return identityEnvelope({ ...record, ...tokens });
}
