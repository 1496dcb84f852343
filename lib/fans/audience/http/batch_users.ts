/** The batch convention: requests that name several users, and their replies. */

import * as v from "valibot";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { type JsonText, type JsonTextReply, jsonText } from "../../../http/mod.ts";
import { isUserId, userIdCharactersMax, userIdExpectation } from "../../../http/requests/validate.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import { accountFault, accountUserId } from "../../identity/own_accounts.ts";
import type { SpaceUser } from "../../loyalty/mod.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";

const batchUsersMax = 100;

export const usersQuery = {
  user_ids: v.exactOptional(
    v.pipe(v.string(), v.description(`Ids of up to ${batchUsersMax} users, separated by commas`)),
  ),
  user_id: v.exactOptional(
    v.pipe(v.string(), v.description("Id of one user; users who call may omit their own")),
  ),
  external_ids: v.exactOptional(
    v.pipe(
      v.string(),
      v.description(
        `Ids of the accounts of up to ${batchUsersMax} users, separated by commas, in place of user_ids`,
      ),
    ),
  ),
  external_id: v.exactOptional(
    v.pipe(v.string(), v.description("Id of the account of one user, in place of user_id")),
  ),
};

type BatchUsers =
  | {
      readonly kind: "one";
      readonly user: SpaceUser;
      /** True if the user makes the request and so exists even if nothing is stored. */
      readonly isOwn: boolean;
    }
  | { readonly kind: "many"; readonly users: readonly SpaceUser[] };

type UsersQuery = { readonly [N in keyof typeof usersQuery]?: string };

/** Splits a list; repeated ids count once. */
function distinctIds(pointer: string, list: string): readonly string[] {
  const ids = [...new Set(list.split(",").map(id => id.trim()))];
  if (ids.length > batchUsersMax) throw invalidUsers(pointer, `Expected at most ${batchUsersMax} users`);
  return ids;
}

function accountUsers(
  caller: AudienceUser | BackEnd,
  pointer: string,
  externalIds: readonly string[],
): readonly string[] {
  const issuer = caller.kind === "backEnd" ? caller.accountIssuer : undefined;
  return externalIds.map(externalId => {
    const fault = accountFault(issuer, externalId);
    if (fault !== null) throw invalidUsers(pointer, fault);
    return accountUserId(issuer ?? "", externalId);
  });
}

/**
 * Parses a list of user ids; repeated ones count once.
 *
 * @throws {AppError} `validation_failed` for an empty list, too many users or an invalid id.
 */
export function parseUserIds(list: string): readonly string[] {
  const ids = distinctIds("user_ids", list);
  if (ids.every(isUserId)) return ids;
  throw invalidUsers(
    "user_ids",
    `Expected ids of 1 to ${userIdCharactersMax} characters, separated by commas`,
  );
}

export function userOfSpace({ space }: BackEnd, userId: string): SpaceUser {
  return { organisationId: space.organisationId, spaceId: space.id, userId, projectId: null };
}

/**
 * Returns the users of a request. Users may name only themselves.
 *
 * @throws {AppError} `validation_failed` if no user is named, `forbidden` if a user names another.
 */
export function batchUsersOf(caller: AudienceUser | BackEnd, query: UsersQuery): BatchUsers {
  const names = Object.keys(usersQuery).filter(name => query[name as keyof UsersQuery] !== undefined);
  if (names.length > 1) throw invalidUsers(names[0] ?? "", `Expected one of ${names.join(" and ")}`);
  const { user_ids: several, user_id: one, external_ids: accounts, external_id: account } = query;
  if (account !== undefined) {
    const [userId = ""] = accountUsers(caller, "external_id", [account]);
    return { kind: "one", user: userFor(caller, userId), isOwn: false };
  }
  if (accounts !== undefined) {
    const userIds = accountUsers(caller, "external_ids", distinctIds("external_ids", accounts));
    return { kind: "many", users: userIds.map(userId => userFor(caller, userId)) };
  }
  if (several !== undefined) {
    return { kind: "many", users: parseUserIds(several).map(userId => userFor(caller, userId)) };
  }
  const userId = one ?? (caller.kind === "user" ? caller.user.userId : undefined);
  if (userId === undefined) throw invalidUsers("user_ids", "Is required");
  if (!isUserId(userId)) throw invalidUsers("user_id", userIdExpectation);
  return { kind: "one", user: userFor(caller, userId), isOwn: caller.kind === "user" };
}

/**
 * Returns the user with an id that a caller gives.
 *
 * @throws {AppError} `forbidden` if a user names another.
 */
export function userFor(caller: AudienceUser | BackEnd, userId: string): SpaceUser {
  if (caller.kind === "backEnd") return userOfSpace(caller, userId);
  if (caller.user.userId === userId) return caller.user;
  throw new AppError("forbidden", "Cannot act for another user with a user's token");
}

const unknownUserMembers = JSON.stringify({
  data: null,
  error: { code: "not_found", message: "Nothing is known of this user" },
});

/** Replies for several users. `read` returns the JSON of an object with the members of a user, or null for an unknown one. */
export async function replyPerUser(
  users: readonly SpaceUser[],
  read: (user: SpaceUser) => Promise<string | null>,
): Promise<JsonTextReply<200, never>> {
  const texts = await mapConcurrent(users, batchUsersMax, async user => {
    const json = (await read(user)) ?? unknownUserMembers;
    return `{"user_id":${JSON.stringify(user.userId)},${json.slice(1)}`;
  });
  return jsonText(`{"message":"OK","users":[${texts.join()}]}` as JsonText<never>);
}

export function unknownUser(): AppError {
  return new AppError("not_found", "Nothing is known of this user");
}

function invalidUsers(pointer: string, detail: string): AppError {
  return invalidField("Cannot tell which users the request is about", pointer, detail);
}
