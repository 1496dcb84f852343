/**
 * What the routes of operators share.
 *
 * @module
 */

import type * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Call, Guard } from "../../../http/mod.ts";
import { recordAttempt } from "../audit/audit.ts";
import type { IdentityContext } from "../context.ts";
import type { User } from "../users.ts";
import type { UserParams } from "./schema.ts";

/** Services of the routes of operators. */
export interface OperatorContext extends IdentityContext {
  /** Demands an API key that may read users. */
  readonly usersReader: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may change users. */
  readonly usersWriter: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may do so, or an admin of the organisation: users without a sign-up are of no project. */
  readonly usersRemover: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may read settings. */
  readonly configReader: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may change settings. */
  readonly configWriter: Guard<ApiKeyPrincipal>;
}

/** The path of a project. */
export const operatorBase = "/internal/identity/projects/:projectId";

type UserPath = v.InferOutput<typeof UserParams> & { readonly sessionId?: string };

type UserCall = Pick<
  Call<ApiKeyPrincipal, UserPath, unknown, unknown>,
  "principal" | "params" | "request" | "info" | "requestId"
>;

/** Acts on a user and records it on the trail, with the API key of the operator. */
export async function onUser<R>(
  context: OperatorContext,
  call: UserCall,
  event: string,
  act: (user: User) => Promise<R>,
): Promise<R> {
  const user = await findUser(context, call.principal, call.params);
  return await recordOperation(context, call, { event, provider: user.provider }, () => act(user));
}

/** Acts on a user as {@linkcode onUser} does, also on one who never signed up and whom back ends reported. */
export async function onAnyUser<R>(
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
  act: () => Promise<R>,
): Promise<R> {
  const { principal, params } = call;
  const attempt = { projectId: params.projectId, event, provider, actor: principal.keyId, call };
  return await recordAttempt(context, { ...attempt, isProjectOnly: event === "operatorDelete" }, note => {
    const { userId, sessionId } = params;
    note({ userId, ...(sessionId === undefined ? {} : { sessionId }) });
    return act();
  });
}

/** @throws {AppError} `not_found`: the organisation of the key has no such project. */
export async function assertProject(
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
export async function findUser(
  context: OperatorContext,
  principal: ApiKeyPrincipal,
  { projectId, userId }: UserPath,
): Promise<User> {
  await assertProject(context, principal, projectId);
  const user = await context.users.findById(projectId, userId);
  if (user === null) throw unknownUser();
  return user;
}

/** Creates the error for a user that the project lacks. */
export function unknownUser(): AppError {
  return new AppError("not_found", "Cannot serve the request as the project has no such user");
}

/** Converts Unix ms to whole seconds. */
export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
