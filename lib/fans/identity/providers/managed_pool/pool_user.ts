import { invalidToken } from "../../../../auth/tokens/mod.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { OperationCall } from "../../operations.ts";
import type { Session } from "../../sessions/session.ts";
import type { Authorize, OpenedSession } from "../../sessions/sessions.ts";
import { identitySetting } from "../../settings.ts";
import { type Account, type User, unixSeconds } from "../../users.ts";

/** A user of the pool with the session of the request. */
export interface PoolUser {
  readonly user: User;
  readonly account: Account;
  readonly session: Session;
}

/**
 * Authenticates the bearer of a request as a user of the pool, and notes it for the audit trail. `authorize` runs before
 * anything is read.
 *
 * @throws {AppError} What {@linkcode Sessions.authenticate} throws; `invalid_token` for a user of another provider.
 */
export async function authenticatePoolUser(
  { sessions }: IdentityContext,
  call: OperationCall,
  authorize?: Authorize,
): Promise<PoolUser> {
  const { user, session } = await sessions.authenticate(call.request, call.project, {
    authorize: holder => {
      call.note(holder);
      return authorize?.(holder);
    },
  });
  call.note({ deviceId: session.deviceId });
  const { account } = user;
  if (user.provider !== "managedPool" || account === undefined) throw invalidToken("provider");
  return { user, account, session };
}

/**
 * Demands a client token or access token of a user without a session, unless the project does without.
 *
 * @throws {AppError} What {@linkcode ClientTokens.check} throws.
 */
export async function requireClientToken(
  { clientTokens }: IdentityContext,
  { request, project }: OperationCall,
): Promise<void> {
  if (identitySetting(project, "recoveryAuth") === "bearer") await clientTokens.check(request, project.id);
}

/** Answers the session record and tokens of a new session. */
export function sessionReply(
  { records, clock }: IdentityContext,
  projectId: string,
  { session, tokens, user }: OpenedSession & { readonly user: User },
) {
  const record = records.issue(projectId, user, {
    deviceId: session.deviceId,
    timeStamp: unixSeconds(clock),
  });
  return identityEnvelope({ ...record, ...tokens });
}
