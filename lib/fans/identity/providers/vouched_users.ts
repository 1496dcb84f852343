/**
 * Users that another provider vouches for. Their key is issuer and subject. An e-mail address is no key here, because its
 * owner at one provider need not be its owner at another.
 *
 * @module
 */

import { capabilityId, uuid } from "../../../auth/crypto/mod.ts";
import { anyTokenTypes, type RemoteIssuer } from "../../../auth/remote_issuers/mod.ts";
import { invalidToken } from "../../../auth/tokens/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import type { IdentityContext } from "../context.ts";
import type { OperationCall } from "../operations.ts";
import type { SessionTokens } from "../sessions/identity_tokens.ts";
import { deviceOf } from "../sessions/sessions.ts";
import { accountBanned, isBanned, isWithdrawn, type User, unixSeconds, withLogin } from "../users.ts";
import { usernameCharactersMax } from "./fields.ts";

/**
 * Finds the user of an identity, or creates it with the username at the first login. Racing first logins create one user.
 *
 * @throws {AppError} `invalid_token`: the identity belongs to a user of another provider of the project, or to one who is being
 * deleted.
 */
export async function findOrCreateVouchedUser(
  { users, clock, random }: IdentityContext,
  projectId: string,
  vouched: Required<Pick<User, "provider" | "origin" | "username">>,
): Promise<User> {
  const { provider, origin, username } = vouched;
  const { issuer, subject } = origin;
  const key = { kind: "origin", issuer, subject } as const;
  const user = (await users.findByKey(projectId, key)) ?? (await create());
  if (user.provider !== provider || isWithdrawn(user)) throw invalidToken("provider");
  return user;

  async function create(): Promise<User> {
    const offered = users.sealIds(uuid(random), capabilityId(random));
    const ids = await users.claim(projectId, key, offered);
    return await users.create(projectId, {
      ...ids,
      provider,
      username,
      signUp: unixSeconds(clock),
      loginHistory: [],
      devices: [],
      appProfile: {},
      origin: { issuer, subject },
    });
  }
}

/** Finds the first of a provider's names that is fit to be a username; empty if there is none. */
export function usernameFrom(...candidates: readonly unknown[]): string {
  const names = candidates.filter(candidate => typeof candidate === "string");
  return names.map(name => name.slice(0, usernameCharactersMax).toWellFormed()).find(isPublicName) ?? "";
}

/**
 * Opens a session of a user that another provider has just vouched for. The login is dated after it, so that the device's
 * session record is of the session.
 */
export async function logInVouchedUser(
  { users, sessions, clock }: IdentityContext,
  { project, request, info, note }: OperationCall,
  { user, deviceId }: { readonly user: User; readonly deviceId: string },
): Promise<{ readonly user: User; readonly tokens: SessionTokens }> {
  const { session, tokens } = await sessions.open(project, user, deviceOf(deviceId, { request, info }));
  note({ sessionId: session.sid, deviceId });
  const now = unixSeconds(clock);
  const written = await users.update(project.id, user.userId, old => withLogin(old, deviceId, now));
  if (written === null) throw invalidToken("user");
  return { user: written, tokens };
}

/**
 * Finds or creates the user of a hosted provider's token. A token older than the end of all the user's sessions proves
 * nothing any more.
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
  const user = await findOrCreateVouchedUser(context, projectId, {
    provider: "hostedIdp",
    origin: { issuer: iss, subject: sub },
    username: usernameFrom(preferred_username, nickname, name),
  });
  if (isBanned(user, clock())) throw accountBanned(user);
  await sessionGuard.check({ projectId, userId: user.userId, issuedAt: iat });
  return user;
}
