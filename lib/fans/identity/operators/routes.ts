/**
 * Routes of operators for the users of their projects, with an API key of the project's organisation. They are an
 * addition to the specification: every path starts with `/internal/identity`.
 */

import type * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { type Call, type Guard, identityEnvelope, route } from "../../../http/mod.ts";
import type { UserRecordKind } from "../../../storage/mod.ts";
import { type AuditEntry, type AuditFacts, type AuditPage, recordAttempt } from "../audit/audit.ts";
import type { ClientToken } from "../client_tokens.ts";
import type { IdentityContext } from "../context.ts";
import { emailKey } from "../lookup_keys.ts";
import type { AccountMerge } from "../merges.ts";
import { EmptyAnswer } from "../operations.ts";
import { accountUserId } from "../own_accounts.ts";
import type { Session } from "../sessions/session.ts";
import { hasSessions, type User } from "../users.ts";
import {
  BanBodySchema,
  BanSchema,
  ClientTokenBodySchema,
  ClientTokenParams,
  ClientTokenSchema,
  ClientTokensSchema,
  DeletedUserSchema,
  EmailQuerySchema,
  FoundUsersSchema,
  IssuedClientTokenSchema,
  MergeBodySchema,
  MergeSchema,
  OperatorProjectParams,
  PageQuerySchema,
  ProjectUserSchema,
  RevokedSchema,
  SessionParams,
  SessionsSchema,
  TrailSchema,
  UnlockQuerySchema,
  UserParams,
} from "./schema.ts";

const operatorBase = "/internal/identity/projects/:projectId";
const ofUser = `${operatorBase}/users/:userId` as const;

/** Builds the routes of operators. */
export function operatorRoutes(context: OperatorContext) {
  return [
    ...trailRoutes(context),
    ...sessionRoutes(context),
    ...banRoutes(context),
    ...lookUpRoutes(context),
    ...userRoutes(context),
    ...clientTokenRoutes(context),
  ];
}

function trailRoutes(context: OperatorContext) {
  const { audit, usersReader } = context;
  const common = {
    method: "GET",
    auth: usersReader,
    query: PageQuerySchema,
    responses: { 200: { description: "A page of the trail", schema: TrailSchema } },
    errors: ["not_found"],
  } as const;
  return [
    route({
      ...common,
      path: `${operatorBase}/audit`,
      operation: "listProjectAudit",
      summary: "List the audit trail of a project",
      description: "Lists the attempts at identity operations of a project, newest first.",
      params: OperatorProjectParams,
      handle: async ({ principal, params, query }) => {
        await assertProject(context, principal, params.projectId);
        return identityEnvelope(trailJson(await audit.ofProject(params.projectId, query)));
      },
    }),
    route({
      ...common,
      path: `${ofUser}/audit`,
      operation: "listUserAudit",
      summary: "List the audit trail of a user",
      description: "Lists the last 50 attempts at identity operations of a user, newest first.",
      params: UserParams,
      handle: async ({ principal, params, query }) => {
        const { projectId, userId } = params;
        await findUser(context, principal, params);
        return identityEnvelope(trailJson(await audit.ofUser(projectId, userId, query)));
      },
    }),
  ];
}

function sessionRoutes(context: OperatorContext) {
  const { sessions, usersReader, usersWriter } = context;
  return [
    route({
      method: "GET",
      path: `${ofUser}/sessions`,
      operation: "listUserSessions",
      summary: "List the sessions of a user",
      description: "Lists the live sessions of a user.",
      auth: usersReader,
      params: UserParams,
      responses: { 200: { description: "The sessions", schema: SessionsSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params }) => {
        await findUser(context, principal, params);
        const found = await sessions.list(params.projectId, params.userId);
        return identityEnvelope({ sessions: found.map(sessionJson) });
      },
    }),
    route({
      method: "DELETE",
      path: `${ofUser}/sessions`,
      operation: "revokeUserSessions",
      summary: "End all sessions of a user",
      description: "Ends all sessions of a user; access tokens are refused at once.",
      auth: usersWriter,
      params: UserParams,
      responses: { 200: { description: "The number of ended sessions", schema: RevokedSchema } },
      errors: ["not_found"],
      handle: call =>
        onUser(context, call, "operatorRevokeSessions", async ({ userId }) =>
          identityEnvelope({ revoked: await sessions.revokeAll(call.params.projectId, userId) }),
        ),
    }),
    route({
      method: "DELETE",
      path: `${ofUser}/sessions/:sessionId`,
      operation: "revokeUserSession",
      summary: "End a session of a user",
      description: "Ends a live session of a user. A session that is over is not found.",
      auth: usersWriter,
      params: SessionParams,
      responses: { 200: { description: "The session is over", schema: EmptyAnswer } },
      errors: ["not_found"],
      handle: async call => {
        const { projectId, userId, sessionId } = call.params;
        await findUser(context, call.principal, call.params);
        const alive = await sessions.list(projectId, userId);
        if (!alive.some(({ sid }) => sid === sessionId)) {
          throw new AppError("not_found", "Cannot end the session as the user has no such session");
        }
        return await onUser(context, call, "operatorRevokeSession", async () => {
          await sessions.revoke(projectId, userId, sessionId);
          return identityEnvelope({});
        });
      },
    }),
  ];
}

function banRoutes(context: OperatorContext) {
  const { users, sessions, usersWriter } = context;
  const common = {
    path: `${ofUser}/ban`,
    auth: usersWriter,
    params: UserParams,
    errors: ["not_found"],
  } as const;
  return [
    route({
      ...common,
      method: "PUT",
      operation: "banUser",
      summary: "Ban a user",
      description:
        "Ends the sessions of a user and refuses new ones, until a time or until the ban is lifted.",
      body: { schema: BanBodySchema, example: { reason: "Abusive names" } },
      responses: { 200: { description: "The ban", schema: BanSchema } },
      handle: call =>
        onUser(context, call, "operatorBan", async ({ userId }, note) => {
          const { reason, until = null } = call.body;
          note({ reason });
          const ban = { reason, until };
          const { projectId } = call.params;
          const banned = await users.update(projectId, userId, user => ({ ...user, ban }));
          if (banned === null) throw unknownUser();
          // Guards that check only sessions enforce the ban by their end.
          await sessions.revokeAll(projectId, userId, { isFinal: true });
          return identityEnvelope({ userId, ...ban });
        }),
    }),
    route({
      ...common,
      method: "DELETE",
      operation: "unbanUser",
      summary: "Lift the ban of a user",
      description: "Lifts the ban of a user, if there is one.",
      responses: { 200: { description: "The user is not banned", schema: EmptyAnswer } },
      handle: call =>
        onUser(context, call, "operatorUnban", async ({ userId }) => {
          const lifted = await users.update(call.params.projectId, userId, ({ ban: _, ...user }) => user);
          if (lifted === null) throw unknownUser();
          return identityEnvelope({});
        }),
    }),
  ];
}

function lookUpRoutes(context: OperatorContext) {
  const { users, usersReader } = context;
  return [
    route({
      method: "GET",
      path: `${operatorBase}/users`,
      operation: "findUsersByEmail",
      summary: "Find a user by e-mail address",
      description: "Finds the user of the managed pool who has the address, in any spelling of its letters.",
      auth: usersReader,
      params: OperatorProjectParams,
      query: EmailQuerySchema,
      responses: { 200: { description: "The user, or an empty list", schema: FoundUsersSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId }, query: { email } }) => {
        await assertProject(context, principal, projectId);
        const user = await users.findByKey(projectId, emailKey(email));
        return identityEnvelope({ users: user === null ? [] : [userJson(user)] });
      },
    }),
    route({
      method: "GET",
      path: ofUser,
      operation: "getProjectUser",
      summary: "Get a user of a project",
      description: "Returns who the user is, whether the user is banned, and into whom the user was merged.",
      auth: usersReader,
      params: UserParams,
      responses: { 200: { description: "The user", schema: ProjectUserSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params }) =>
        identityEnvelope(userJson(await findUser(context, principal, params))),
    }),
  ];
}

function userRoutes(context: OperatorContext) {
  const { limiter, removals, userKinds, usersRemover, usersWriter } = context;
  return [
    route({
      method: "POST",
      path: `${ofUser}/unlock`,
      operation: "unlockUser",
      summary: "Unlock a user",
      description: "Forgets the failed logins of a user's account, and those of one address.",
      auth: usersWriter,
      params: UserParams,
      query: UnlockQuerySchema,
      responses: { 200: { description: "Logins are accepted again", schema: EmptyAnswer } },
      errors: ["not_found"],
      handle: call =>
        onUser(context, call, "operatorUnlock", async ({ userId, account }) => {
          const { projectId } = call.params;
          const email = account === undefined ? {} : { email: account.email };
          await limiter.clear({ projectId, address: call.query.address, userId, ...email }, "account");
          return identityEnvelope({});
        }),
    }),
    route({
      method: "POST",
      path: `${ofUser}/merge`,
      operation: "mergeUser",
      summary: "Merge a user into another",
      description:
        "Gives all that a user has to another of the project, once: points, items, progress, votes and scores. Users whom back ends reported and who never signed up can be merged too.",
      auth: usersWriter,
      params: UserParams,
      body: { schema: MergeBodySchema, example: { into: "0f000000-0000-4000-8000-000000000001" } },
      responses: { 200: { description: "The users are one", schema: MergeSchema } },
      errors: ["not_found", "validation_failed", "conflict"],
      async handle(call) {
        const { projectId, userId: from } = call.params;
        const into = await mergeTarget(context, projectId, call.body);
        return await onAnyUser(context, call, "operatorMerge", async () => {
          await mergeUser(context, { projectId, from, into });
          return identityEnvelope({ from, into });
        });
      },
    }),
    route({
      method: "DELETE",
      path: ofUser,
      operation: "deleteUser",
      summary: "Delete a user",
      description:
        "Deletes a user with everything about it: credentials, sessions, trail, scores, loyalty and profile, and the users who were merged into it. Users whom back ends reported and who never signed up are deleted under the project whose boards they are on, or under any if on none.",
      auth: usersRemover,
      params: UserParams,
      responses: { 200: { description: "The user is deleted", schema: DeletedUserSchema } },
      errors: ["not_found"],
      handle: call =>
        onAnyUser(context, call, "operatorDelete", async () => {
          await removals.remove(call.params.projectId, call.params.userId);
          return identityEnvelope({ left: leftBy(userKinds) });
        }),
    }),
  ];
}

function leftBy(kinds: readonly UserRecordKind[]) {
  return kinds.flatMap(({ name: kind, description, removal, reason = "" }) =>
    removal === "removed" ? [] : [{ kind, description, removal, reason }],
  );
}

/** @throws {AppError} `validation_failed`: the body names no user, or two. */
async function mergeTarget(
  { directory, ownAccounts }: OperatorContext,
  projectId: string,
  { into, intoExternalId }: v.InferOutput<typeof MergeBodySchema>,
): Promise<string> {
  if ((into === undefined) === (intoExternalId === undefined))
    throw invalidField("Cannot merge the user", "/into", "Expected either into or intoExternalId");
  if (into !== undefined) return into;
  const project = await directory.project(projectId);
  if (project === null || intoExternalId === undefined) throw unknownUser();
  return accountUserId(ownAccounts.requireIssuer(project, "/intoExternalId"), intoExternalId);
}

/** @throws {AppError} `validation_failed`, `not_found` or `conflict`: the users cannot be joined. */
async function mergeUser({ users, removals, merges }: OperatorContext, merge: AccountMerge): Promise<void> {
  const { projectId, from, into } = merge;
  if (from === into) throw invalidField("Cannot merge the user", "/into", "Expected the id of another user");
  const [user, target] = await Promise.all([from, into].map(id => users.findById(projectId, id)));
  if (target == null && !(await removals.isReported(projectId, into))) throw unknownUser();
  // A user who signs in must be able to do so afterwards.
  if (user != null && (target == null || (hasSessions(user) && user.provider !== target.provider))) {
    throw new AppError(
      "conflict",
      "Cannot merge the user as nobody could sign in as this one any more: merge the other one into it",
    );
  }
  const isGone = [user, target].some(one => one?.isRetired !== undefined);
  const isTaken = isGone || target?.mergedInto !== undefined || (user?.mergedInto ?? into) !== into;
  if (isTaken || !(await merges.join(merge))) {
    throw new AppError(
      "conflict",
      "Cannot merge the user as one of both is merged into another user, or being deleted",
    );
  }
}

function trailJson({ entries, cursor }: AuditPage): AuditPage {
  return { entries: entries.map(entryJson), cursor };
}

/** A device id registers its anonymous user again, so readers of the trail do not get it. */
function entryJson({ deviceId, ...entry }: AuditEntry): AuditEntry {
  const isCredential = deviceId === undefined || entry.provider === "anonymous";
  return { ...entry, ...(isCredential ? {} : { deviceId }), at: seconds(entry.at) };
}

function userJson({ userId, provider, username, signUp, loginHistory, account, ban, mergedInto }: User) {
  return {
    userId,
    provider,
    username,
    signUp,
    lastLogin: loginHistory.at(-1) ?? null,
    email: account?.email ?? "",
    isEmailVerified: account?.isEmailVerified ?? false,
    ban: ban ?? null,
    mergedInto: mergedInto ?? null,
  };
}

function sessionJson(session: Session) {
  const { sid, deviceId, createdAt, lastSeen, expiresAt, userAgent, addressTag } = session;
  return {
    sessionId: sid,
    deviceId,
    createdAt: seconds(createdAt),
    lastSeen: seconds(lastSeen),
    expiresAt: seconds(expiresAt),
    userAgent,
    addressTag,
  };
}

interface OperatorContext extends IdentityContext {
  readonly usersReader: Guard<ApiKeyPrincipal>;
  readonly usersWriter: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may do so, or an admin of the organisation: users without a sign-up are of no project. */
  readonly usersRemover: Guard<ApiKeyPrincipal>;
  /** The kinds of records that are kept about users. */
  readonly userKinds: readonly UserRecordKind[];
  readonly configReader: Guard<ApiKeyPrincipal>;
  readonly configWriter: Guard<ApiKeyPrincipal>;
}

type UserPath = v.InferOutput<typeof UserParams> & { readonly sessionId?: string };

type UserCall = Pick<
  Call<ApiKeyPrincipal, UserPath, unknown, unknown>,
  "principal" | "params" | "request" | "info" | "requestId"
>;

/** Acts on a user and records it on the trail, with the API key of the operator. */
async function onUser<R>(
  context: OperatorContext,
  call: UserCall,
  event: string,
  act: (user: User, note: (facts: AuditFacts) => void) => Promise<R>,
): Promise<R> {
  const user = await findUser(context, call.principal, call.params);
  return await recordOperation(context, call, { event, provider: user.provider }, note => act(user, note));
}

/** Acts on a user as {@linkcode onUser} does, also on one who never signed up and whom back ends reported. */
async function onAnyUser<R>(
  context: OperatorContext,
  call: UserCall,
  event: string,
  act: () => Promise<R>,
): Promise<R> {
  const { projectId, userId } = call.params;
  await assertProject(context, call.principal, projectId);
  const user = await context.users.findById(projectId, userId);
  if (user === null && !(await context.removals.isReported(projectId, userId))) throw unknownUser();
  return await recordOperation(context, call, { event, provider: user?.provider ?? "" }, act);
}

async function recordOperation<R>(
  context: OperatorContext,
  call: UserCall,
  { event, provider }: { readonly event: string; readonly provider: string },
  act: (note: (facts: AuditFacts) => void) => Promise<R>,
): Promise<R> {
  const { principal, params } = call;
  const attempt = { projectId: params.projectId, event, provider, actor: principal.keyId, call };
  return await recordAttempt(context, { ...attempt, isProjectOnly: event === "operatorDelete" }, note => {
    const { userId, sessionId } = params;
    note({ userId, ...(sessionId === undefined ? {} : { sessionId }) });
    return act(note);
  });
}

/** @throws {AppError} `not_found`: the organisation of the key has no such project. */
async function assertProject(
  { directory }: OperatorContext,
  { organisationId }: ApiKeyPrincipal,
  projectId: string,
): Promise<void> {
  const project = await directory.project(projectId);
  // A project of another organisation answers exactly like an unknown one.
  if (project?.organisationId !== organisationId) {
    throw new AppError("not_found", "Cannot serve the request as the organisation has no such project");
  }
}

/** @throws {AppError} `not_found`: the organisation of the key has no such project, or the project no such user. */
async function findUser(
  context: OperatorContext,
  principal: ApiKeyPrincipal,
  { projectId, userId }: UserPath,
): Promise<User> {
  await assertProject(context, principal, projectId);
  const user = await context.users.findById(projectId, userId);
  if (user === null) throw unknownUser();
  return user;
}

function unknownUser(): AppError {
  return new AppError("not_found", "Cannot serve the request as the project has no such user");
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

const path = `${operatorBase}/client-tokens` as const;

function clientTokenRoutes(context: OperatorContext) {
  const { clientTokens, configReader, configWriter } = context;
  return [
    route({
      method: "POST",
      path,
      operation: "issueClientToken",
      summary: "Issue a client token",
      description:
        "Issues a token for the app of the project, with which users without a session recover their passwords. It works for 366 days, or until it is ended. The answer alone carries it.",
      auth: configWriter,
      params: OperatorProjectParams,
      body: { schema: ClientTokenBodySchema, example: { name: "App 2.0" } },
      responses: { 201: { description: "The token", schema: IssuedClientTokenSchema } },
      errors: ["not_found", "limit_reached"],
      handle: async ({ principal, params: { projectId }, body }) => {
        await assertProject(context, principal, projectId);
        const { token, ...created } = await clientTokens.create(projectId, body.name);
        return identityEnvelope({ ...tokenJson(created), token }, { status: 201 });
      },
    }),
    route({
      method: "GET",
      path,
      operation: "listClientTokens",
      summary: "List the client tokens of a project",
      description: "Lists the client tokens of the project that have not expired, oldest first.",
      auth: configReader,
      params: OperatorProjectParams,
      responses: { 200: { description: "The tokens", schema: ClientTokensSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId } }) => {
        await assertProject(context, principal, projectId);
        return identityEnvelope({ clientTokens: (await clientTokens.list(projectId)).map(tokenJson) });
      },
    }),
    route({
      method: "DELETE",
      path: `${path}/:tokenId`,
      operation: "endClientToken",
      summary: "End a client token",
      description: "Ends a client token at once.",
      auth: configWriter,
      params: ClientTokenParams,
      responses: { 200: { description: "The token does not work any more", schema: ClientTokenSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId, tokenId } }) => {
        await assertProject(context, principal, projectId);
        const ended = await clientTokens.end(projectId, tokenId);
        if (ended === null) {
          throw new AppError("not_found", "Cannot end the client token as the project has no such token");
        }
        return identityEnvelope(tokenJson(ended));
      },
    }),
  ];
}

function tokenJson({ id, name, createdAt, expiresAt, endedAt }: ClientToken) {
  return {
    id,
    name,
    createdAt: seconds(createdAt),
    expiresAt: seconds(expiresAt),
    endedAt: endedAt === null ? null : seconds(endedAt),
  };
}
