/**
 * Anonymous users who get an account: promoted in place at registration, or merged into the account at login.
 *
 * @module
 */

import type * as v from "valibot";
import { AppError } from "../../../../base/errors/mod.ts";
import type { Project } from "../../../directory/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { OperationCall } from "../../operations.ts";
import { type Account, isAnonymous, type User } from "../../users.ts";
import { assertSignaturePresent, isSignedFor } from "../signature_demand.ts";
import { claimEmail, emailKey, isSameEmail } from "./email_keys.ts";
import type { anonymousPairEntries } from "./fields.ts";

/** The proof of an anonymous user: both ids, and the signature of a session record if the project demands it. */
export type AnonymousPair = v.InferOutput<v.ObjectSchema<typeof anonymousPairEntries, undefined>>;

/**
 * Finds the anonymous user of a pair; null if the request has none or the user is registered by now.
 *
 * @throws {AppError} `invalid_credentials`: the pair does not belong together, or its signature is not ours;
 * `validation_failed`: the project demands a signature, which is missing.
 */
export async function findProvenAnonymous(
  context: IdentityContext,
  project: Project,
  pair: AnonymousPair,
): Promise<User | null> {
  if (!isComplete(pair)) return null;
  assertSignaturePresent(project, pair, "/data/");
  const user = await userOf(context, project, pair);
  if (user === null) throw rejected();
  return isAnonymous(user) ? user : null;
}

/**
 * Makes the anonymous user a registered one with the same id. Returns the holder of the address, or null if another
 * registration of the same anonymous user was faster.
 */
export async function promoteAnonymous(
  context: IdentityContext,
  projectId: string,
  { anonymous, account }: { readonly anonymous: User; readonly account: Account },
): Promise<User | null> {
  const { users } = context;
  const { userId } = anonymous;
  const holder = await claimEmail(context, projectId, { email: account.email, ids: anonymous });
  if (holder.userId !== userId) return await users.findById(projectId, holder.userId);
  const user = await users.update(projectId, userId, old =>
    isAnonymous(old) ? { ...old, provider: "managedPool", username: account.nickname, account } : old,
  );
  const email = user?.account?.email;
  if (email !== undefined && isSameEmail(email, account.email)) {
    await users.claim(projectId, emailKey(account.email), anonymous);
    return user;
  }
  await users.release(projectId, emailKey(account.email), userId);
  return null;
}

/**
 * Merges an anonymous user into the account that it logged in to: once, however often it logs in. What the user has is there
 * when the promise resolves; the boards follow.
 */
export async function mergeAnonymous(
  context: IdentityContext,
  { project, info }: OperationCall,
  { pair, into }: { readonly pair: AnonymousPair; readonly into: string },
): Promise<void> {
  if (!isComplete(pair)) return;
  const { merges, background, onMerge, onRemove } = context;
  const from = await userOf(context, project, pair);
  if (from === null || !isAnonymous(from)) return;
  const merge = { projectId: project.id, from: from.userId, into };
  if (!(await merges.begin(merge))) return;
  background.run("merge", info, async () => {
    await onRemove(project.id, from.userId);
    await onMerge(merge);
  });
}

type CompletePair = AnonymousPair & { readonly externalId: string; readonly deviceId: string };

function isComplete(pair: AnonymousPair): pair is CompletePair {
  return pair.externalId !== undefined && pair.deviceId !== undefined;
}

/** Finds the user of a pair, if both ids belong together. */
async function userOf(
  { users, records }: IdentityContext,
  project: Project,
  pair: CompletePair,
): Promise<User | null> {
  const { externalId, deviceId } = pair;
  const user = await users.findByKey(project.id, { kind: "external", externalId });
  const hasDevice = user?.devices.some(device => device.deviceId === deviceId) ?? false;
  return user !== null && hasDevice && isSignedFor(user, pair, { records, project, deviceId }) ? user : null;
}

function rejected(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot take over the anonymous user as externalId and deviceId do not belong together",
  );
}
