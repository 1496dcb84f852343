import { anyTokenTypes, type RemoteIssuer, type RemoteIssuers } from "../../../auth/remote_issuers/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { accountBanned, isBanned } from "../../sessions/ban.ts";
import type { User } from "../../users.ts";
import { originUser, usernameFrom } from "../origin_user.ts";

/**
 * The user of a hosted identity provider's token, made when met first. A token that is older than the end of all the
 * user's sessions proves nothing any more.
 *
 * @throws {AppError} What {@linkcode RemoteIssuers.verify} throws; `account_banned`, `session_revoked`.
 */
export async function issuerUser(
  context: IdentityContext,
  projectId: string,
  proof: { readonly token: string; readonly issuer: RemoteIssuer; readonly types?: readonly string[] },
): Promise<User> {
  const { issuers, sessionGuard, clock } = context;
  const { token, issuer, types = anyTokenTypes } = proof;
  const { iss, sub, iat, preferred_username, nickname, name } = await issuers.verify(token, issuer, {
    types,
  });
  const user = await originUser(context, projectId, {
    provider: "hostedIdp",
    origin: { issuer: iss, subject: sub },
    username: usernameFrom(preferred_username, nickname, name),
  });
  if (isBanned(user, clock())) throw accountBanned(user);
  await sessionGuard.check({ projectId, userId: user.userId, issuedAt: iat });
  return user;
}
