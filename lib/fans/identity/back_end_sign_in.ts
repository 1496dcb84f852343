/** Sign-in by a back end: it proves itself with an API key, and gets a token of the space for one of its users. */

import * as v from "valibot";
import { requirePermission } from "../../auth/api_keys/routes.ts";
import type { ApiKeys } from "../../auth/mod.ts";
import { AppError, invalidField } from "../../base/errors/mod.ts";
import type { Call } from "../../http/mod.ts";
import { UserIdSchema } from "../../http/requests/validate.ts";
import type { Project, Space } from "../directory/mod.ts";
import { type SpaceQuery, type SpaceVisit, spaceOfKey, type UserCaller } from "../space_tokens/mod.ts";
import { recordAttempt } from "./audit/audit.ts";
import type { IdentityContext } from "./context.ts";
import { UuidSchema } from "./operations.ts";
import { AccountIdSchema } from "./own_accounts.ts";
import { UsernameSchema } from "./providers/fields.ts";
import { movedInUser, vouchedUserOrNull } from "./providers/vouched_users.ts";
import { defaultProjectOf } from "./settings.ts";
import { accountBanned, isBanned, isWithdrawn, type User } from "./users.ts";

/** The members that name an API key. */
export const keyEntries = {
  key: v.pipe(v.string(), v.description("The API key"), v.maxLength(256)),
  secret: v.pipe(v.string(), v.description("Secret of the API key"), v.maxLength(256)),
};

export const UserProof = v.object({
  type: v.pipe(
    v.literal("user"),
    v.description("An API key proves the back end, which vouches for the user"),
  ),
  ...keyEntries,
  externalId: v.exactOptional(AccountIdSchema),
  userId: v.exactOptional(v.pipe(UserIdSchema, v.description("Id of a user who exists"))),
  displayName: v.exactOptional(
    v.pipe(UsernameSchema, v.description("Name of the user from now on, if the user signed up")),
  ),
  projectId: v.exactOptional(
    v.pipe(UuidSchema, v.description("The user's project; by default the space's defaultProjectId")),
  ),
});

type UserProofInput = v.InferOutput<typeof UserProof>;

export interface SignInContext extends IdentityContext {
  readonly apiKeys: Pick<ApiKeys, "verify">;
}

type SignInCall = Pick<
  Call<unknown, unknown, SpaceQuery, unknown>,
  "request" | "info" | "requestId" | "query"
>;

/**
 * Returns the user whom a back end names, with the space. A user of an account comes to exist with it.
 *
 * @throws {AppError} `insufficient_scope`, `validation_failed`, `not_found`, `account_banned`; `conflict`: another user has the id.
 */
export async function userOfBackEnd(
  context: SignInContext,
  proof: UserProofInput,
  call: SignInCall,
): Promise<SpaceVisit<UserCaller>> {
  const principal = await context.apiKeys.verify(proof.key, proof.secret);
  requirePermission(principal, "users:write");
  requirePermission(principal, "tokens:write");
  const { organisationId, keyId: actor } = principal;
  const space = await spaceOfKey(context.directory, organisationId, call);
  requireOneId(proof);
  const project = await projectOf(context, space, proof);
  const attempt = { projectId: project.id, event: "backEndSignIn", provider: "backEnd", actor, call };
  const userId = await recordAttempt(context, attempt, async note => {
    const user = await findUser(context, project, proof);
    note({ userId: user.userId });
    if (user.record !== null) await checkUser(context, project, user.record, proof);
    else if (proof.displayName !== undefined) throw unnamed();
    return user.userId;
  });
  return {
    space,
    caller: { kind: "user", userId, organisationId, spaceId: space.id, projectId: project.id },
  };
}

function requireOneId({ externalId, userId }: UserProofInput): void {
  if ((externalId === undefined) === (userId === undefined)) {
    throw invalidField(
      "Cannot tell which user this is",
      "/externalId",
      "Expected either externalId or userId",
    );
  }
}

async function projectOf(
  { directory }: SignInContext,
  space: Space,
  { projectId }: UserProofInput,
): Promise<Project> {
  const project = await (projectId === undefined
    ? defaultProjectOf(directory, space)
    : directory.project(projectId));
  if (project?.spaceId === space.id) return project;
  const detail =
    projectId === undefined
      ? "Is required, as the space has no defaultProjectId"
      : "Expected the id of a project of the space";
  throw invalidField("Cannot tell which project the user is of", "/projectId", detail);
}

interface FoundUser {
  readonly userId: string;
  /** Null for one who did not sign up, whom back ends report. */
  readonly record: User | null;
}

async function findUser(
  context: SignInContext,
  project: Project,
  { externalId, userId, displayName = "" }: UserProofInput,
): Promise<FoundUser> {
  if (externalId !== undefined) {
    const issuer = context.ownAccounts.requireIssuer(project, "/externalId");
    const origin = { issuer, subject: externalId };
    const vouched = { provider: "hostedIdp", origin, username: displayName } as const;
    const record =
      (await vouchedUserOrNull(context, project.id, vouched)) ??
      (await movedInUser(context.users, project.id, origin));
    if (record !== null) return { userId: record.userId, record };
    throw new AppError(
      "conflict",
      "Cannot sign in the user: another user has the id, or this one is being deleted",
    );
  }
  const id = await context.users.mergeTarget(project.id, userId ?? "");
  const record = await context.users.findById(project.id, id);
  const isKnown = record === null ? await context.removals.isReported(project.id, id) : !isWithdrawn(record);
  if (isKnown) return { userId: id, record };
  throw new AppError("not_found", "Cannot sign in the user as nothing is known of one with this id");
}

async function checkUser(
  { users, clock }: SignInContext,
  { id: projectId }: Project,
  user: User,
  { displayName: username }: UserProofInput,
): Promise<void> {
  if (isBanned(user, clock())) throw accountBanned(user);
  if (username === undefined || username === user.username) return;
  await users.update(projectId, user.userId, before => ({ ...before, username }));
}

function unnamed(): AppError {
  return invalidField(
    "Cannot name the user",
    "/displayName",
    "Expected no name of a user who did not sign up: change the profile instead",
  );
}
