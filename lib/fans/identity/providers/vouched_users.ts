/**
 * Users that another provider vouches for. Their key is issuer and subject. An e-mail address is no key here, because its
 * owner at one provider need not be its owner at another.
 */

import * as v from "valibot";
import { anyTokenTypes, type RemoteIssuer } from "../../../auth/remote_issuers/mod.ts";
import { foreignBearerToken, invalidToken } from "../../../auth/tokens/mod.ts";
import { identityEnvelope, named } from "../../../http/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import type { IdentityContext } from "../context.ts";
import type { Origin } from "../lookup_keys.ts";
import {
  answerOf,
  appProfile,
  authenticateUser,
  DeviceIdSchema,
  loginHistory,
  type OperationCall,
  objectOnly,
  operation,
  requireSessionDevice,
  tokenEntries,
} from "../operations.ts";
import { accountUserId, isSameAccount } from "../own_accounts.ts";
import type { Session } from "../sessions/session.ts";
import { deviceOf, type OpenedSession } from "../sessions/sessions.ts";
import { hostedIssuer } from "../settings.ts";
import {
  accountBanned,
  isBanned,
  isWithdrawn,
  newUser,
  type User,
  type Users,
  unixSeconds,
  withLogin,
} from "../users.ts";
import { AppProfileSchema, assertAppProfileFits, UsernameSchema, usernameCharactersMax } from "./fields.ts";

type Vouched = Required<Pick<User, "provider" | "origin" | "username">>;

/**
 * Finds the user of an identity, or creates it with the username at the first login. Racing first logins create one user.
 *
 * @throws {AppError} `invalid_token`: the identity belongs to a user of another provider of the project, or to one who is being
 * deleted, or its id belongs to another user.
 */
export async function findOrCreateVouchedUser(
  context: IdentityContext,
  projectId: string,
  vouched: Vouched,
): Promise<User> {
  const user = await vouchedUserOrNull(context, projectId, vouched);
  if (user === null) throw invalidToken("provider");
  return user;
}

/** Finds or creates the user of an identity; null if another user has it, or its id, or is being deleted. */
export async function vouchedUserOrNull(
  { users, ownAccounts, directory, clock, random }: IdentityContext,
  projectId: string,
  { provider, origin: { issuer, subject }, username }: Vouched,
): Promise<User | null> {
  const key = { kind: "origin", issuer, subject } as const;
  const isVouched = (user: User | null): boolean =>
    user?.provider === provider && isSameAccount(user.origin, key) && user.isRetired === undefined;
  const found = await users.findByKey(projectId, key);
  if (found !== null) return isVouched(found) ? await unmerged(users, projectId, found) : null;
  const project = await directory.project(projectId);
  const isOwn = project !== null && provider === "hostedIdp" && ownAccounts.issuerOf(project) === issuer;
  const userId = isOwn ? accountUserId(issuer, subject) : undefined;
  const holder = userId === undefined ? null : await users.findById(projectId, userId);
  // Claimed only then, so that an identity never leads to the user of another.
  if (holder !== null && !isVouched(holder)) return null;
  const ids = await users.claim(projectId, key, await users.newIds(random, userId));
  const facts = { provider, username, origin: { issuer, subject } };
  const user = await users.create(projectId, newUser(ids, unixSeconds(clock), facts));
  return isVouched(user) ? await unmerged(users, projectId, user) : null;
}

/** Finds the user whose password was imported under the id of an account. The issuer's tokens do not sign it in. */
export async function movedInUser(users: Users, projectId: string, origin: Origin): Promise<User | null> {
  const user = await users.findById(projectId, accountUserId(origin.issuer, origin.subject));
  const isMovedIn = user?.account !== undefined && isSameAccount(user.origin, origin);
  return isMovedIn && user.isRetired === undefined ? await unmerged(users, projectId, user) : null;
}

/** Returns the user, or the one that a back end joined it with; null if that one is being deleted. */
async function unmerged(users: Users, projectId: string, user: User): Promise<User | null> {
  if (user.mergedInto === undefined) return user;
  const target = await users.findById(projectId, await users.mergeTarget(projectId, user.userId));
  return target === null || isWithdrawn(target) ? null : target;
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
): Promise<OpenedSession & { readonly user: User }> {
  const { session, tokens } = await sessions.open(project, user, deviceOf(deviceId, { request, info }));
  note({ sessionId: session.sid, deviceId });
  const now = unixSeconds(clock);
  const written = await users.update(project.id, user.userId, old => withLogin(old, deviceId, now));
  if (written === null) throw invalidToken("user");
  return { user: written, session, tokens };
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

const provider = { strategies: ["email"], providers: ["hostedIdp"] } as const;
const bearer = { provider: "hostedIdp", isCounted: true };
const profileEntries = { username: v.string(), appProfile, loginHistory };

const ProfileAnswer = named("HostedProfile", answerOf(v.strictObject(profileEntries)));
const UpdateAnswer = named(
  "HostedUpdate",
  answerOf(
    v.strictObject({
      externalId: v.string(),
      projectId: v.string(),
      accessToken: v.pipe(v.string(), v.description("Access token of the platform")),
      appProfile,
    }),
  ),
);
const CheckAnswer = named(
  "HostedCheck",
  answerOf(
    v.strictObject({
      ...profileEntries,
      userId: v.string(),
      accessToken: tokenEntries.accessToken,
      profileToken: v.exactOptional(tokenEntries.profileToken),
      refreshToken: v.exactOptional(tokenEntries.refreshToken),
    }),
  ),
);

export function fetchHostedUser(context: IdentityContext) {
  return operation({
    ...provider,
    entries: {},
    responses: { 200: { description: "The profile", schema: ProfileAnswer } },
    isLookup: true,
    run: async (_, call) => identityEnvelope(profileOf((await authenticate(context, call)).user)),
  });
}

/**
 * Changes the name and replaces the application profile of the bearer, and answers an access token of the platform: that of
 * the request, or for a token of the provider one of a session that all such updates of the user share.
 */
export function updateHostedUser(context: IdentityContext) {
  return operation({
    ...provider,
    entries: {
      data: v.pipe(
        objectOnly("HostedChanges", {
          username: v.exactOptional(UsernameSchema),
          appProfile: v.exactOptional(AppProfileSchema),
        }),
        v.description("What to change; absent members stay"),
      ),
    },
    responses: { 200: { description: "The user as changed", schema: UpdateAnswer } },
    async run({ data }, call) {
      if (data.appProfile !== undefined) assertAppProfileFits(data.appProfile);
      const caller = await authenticate(context, call);
      const { userId } = caller.user;
      const user = await context.users.update(call.project.id, userId, old => ({ ...old, ...data }));
      if (user === null) throw invalidToken("user");
      // The request names no device. A session for each of them would drive out those of the user's devices.
      const accessToken =
        caller.session === null
          ? await context.sessions.accessTokenOn(call.project, user, deviceOf(userId, call))
          : tokenOf(call);
      return identityEnvelope({
        externalId: await context.users.externalIdOf(user),
        projectId: call.project.id,
        accessToken,
        appProfile: user.appProfile,
      });
    },
  });
}

/**
 * Checks a token of the provider: its user, created at the first login, logs in on the device, and the answer carries the
 * tokens of a new session. An access token of the platform is accepted too, and answered with itself.
 */
export function checkHostedUser(context: IdentityContext) {
  return operation({
    ...provider,
    entries: { deviceId: DeviceIdSchema },
    responses: { 200: { description: "The profile", schema: CheckAnswer } },
    async run({ deviceId }, call) {
      call.note({ deviceId });
      const { user, tokens } = context.tokens.namesOwnKey(tokenOf(call))
        ? await checkOwnToken(context, call, deviceId)
        : await logIn(context, call, deviceId);
      return identityEnvelope({ ...profileOf(user), userId: user.userId, ...tokens });
    },
  });
}

async function checkOwnToken(context: IdentityContext, call: OperationCall, deviceId: string) {
  const { user, session } = await authenticateUser(context, call, bearer);
  requireSessionDevice(call.project, session, deviceId);
  return { user, tokens: { accessToken: tokenOf(call) } };
}

async function logIn(context: IdentityContext, call: OperationCall, deviceId: string) {
  return await logInVouchedUser(context, call, { user: await bearerUser(context, call), deviceId });
}

/** Authenticates the bearer of an access token of the platform, or of a token of the provider, which has no session. */
async function authenticate(
  context: IdentityContext,
  call: OperationCall,
): Promise<{ readonly user: User; readonly session: Session | null }> {
  return context.tokens.namesOwnKey(tokenOf(call))
    ? await authenticateUser(context, call, bearer)
    : { user: await bearerUser(context, call), session: null };
}

function bearerUser(context: IdentityContext, call: OperationCall): Promise<User> {
  return hostedUser(context, call, tokenOf(call));
}

/** Finds or creates the user of the provider's token, and spends a look-up. */
export async function hostedUser(
  context: IdentityContext,
  call: OperationCall,
  token: string,
): Promise<User> {
  const { project, info } = call;
  const user = await issuerUser(context, project.id, { token, issuer: hostedIssuer(project) });
  const { userId } = user;
  call.note({ userId });
  await context.limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
  return user;
}

function tokenOf({ request }: OperationCall): string {
  return foreignBearerToken(request.headers.get("authorization"));
}

function profileOf({ username, appProfile: profile, loginHistory: logins }: User) {
  return { username, appProfile: profile, loginHistory: logins };
}
