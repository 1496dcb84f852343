/**
 * The batch convention: requests that name several users, and their answers.
 *
 * @module
 */

import * as v from "valibot";
import { mapConcurrent } from "../../background/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type JsonText, jsonText, type Reply } from "../../http/mod.ts";
import { idCharactersMax, isId } from "../batch/items.ts";
import type { AudienceMember } from "../member.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";

/** Most users that one reading request names. */
export const batchUsersMax = 100;
/** Longest id of a user, in characters. */
export const userIdCharactersMax: number = idCharactersMax;
/** Number of users of one request who are read at a time. */
export const batchReadLanes = 100;

/** A query parameter that may be left out. */
export type OptionalText<T extends string> = v.ExactOptionalSchema<v.GenericSchema<T>, undefined>;

/** The users that a request names: several, separated by commas, or one. */
export const usersQuery: {
  readonly user_ids: OptionalText<string>;
  readonly user_id: OptionalText<string>;
} = { user_ids: v.exactOptional(v.string()), user_id: v.exactOptional(v.string()) };

/** What was asked for: one user's answer, or the answer for several. */
export type Batch =
  | {
      readonly kind: "one";
      readonly member: AudienceMember;
      /** Whether the user asks in person, and so is known although nothing may be on record. */
      readonly isOwn: boolean;
    }
  | { readonly kind: "many"; readonly members: readonly AudienceMember[] };

/**
 * The users of a list of ids, each once, in the order given.
 *
 * @throws {AppError} `validation_failed` where there are none or too many, or one is no id.
 */
export function namedUsers(list: string): readonly string[] {
  const ids = [...new Set(list.split(",").map(id => id.trim()))];
  if (ids.length > batchUsersMax) throw invalid("user_ids", `Expected at most ${batchUsersMax} users`);
  if (!ids.every(isId)) {
    throw invalid("user_ids", `Expected ids of 1 to ${userIdCharactersMax} characters, separated by commas`);
  }
  return ids;
}

/** A user of the space that a back end calls. */
export function memberAt({ space }: BackEnd, userId: string): AudienceMember {
  return { organisationId: space.organisationId, spaceId: space.id, userId, projectId: null };
}

/**
 * Whom a request is about. Users are themselves, whether they say so or not; back ends name users.
 *
 * @throws {AppError} `validation_failed` where nobody is named, `forbidden` where a user names another.
 */
export function batchOf(
  caller: AudienceUser | BackEnd,
  { user_ids: several, user_id: one }: { readonly user_ids?: string; readonly user_id?: string },
): Batch {
  if (several !== undefined && one !== undefined)
    throw invalid("user_id", "Expected either user_ids or user_id");
  if (several !== undefined) {
    return { kind: "many", members: namedUsers(several).map(userId => memberOf(caller, userId)) };
  }
  const userId = one ?? ownId(caller);
  if (!isId(userId)) throw invalid("user_id", `Expected an id of 1 to ${userIdCharactersMax} characters`);
  return { kind: "one", member: memberOf(caller, userId), isOwn: caller.kind === "user" };
}

/**
 * The user of an id that a caller gives.
 *
 * @throws {AppError} `forbidden` where a user names another.
 */
export function memberOf(caller: AudienceUser | BackEnd, userId: string): AudienceMember {
  if (caller.kind === "backEnd") return memberAt(caller, userId);
  if (caller.member.userId === userId) return caller.member;
  throw new AppError("forbidden", "Cannot act for another user with a user's token");
}

/** Answers for several users: what is read of each, the JSON of an object with `data`, or an error where that is null. */
export async function answerMany(
  members: readonly AudienceMember[],
  read: (member: AudienceMember) => Promise<string | null>,
): Promise<Reply> {
  const users = await mapConcurrent(members, batchReadLanes, async member => {
    const found = (await read(member)) ?? unknown;
    return `{"user_id":${JSON.stringify(member.userId)},${found.slice(1)}`;
  });
  return jsonText(`{"message":"OK","users":[${users.join()}]}` as JsonText<unknown>);
}

/** What is answered for a user of whom nothing is known. */
const unknown = JSON.stringify({
  data: null,
  error: { code: "not_found", message: "Nothing is known of this user" },
});

function ownId(caller: AudienceUser | BackEnd): string {
  if (caller.kind === "user") return caller.member.userId;
  throw invalid("user_ids", "Is required");
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot tell which users the request is about", {
    fields: [{ pointer, detail }],
  });
}
