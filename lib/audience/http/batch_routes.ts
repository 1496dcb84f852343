/**
 * The audience API under the address of a space: one user or several, for users and back ends alike.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, looseRoute, type Reply } from "../../http/mod.ts";
import { isId, isObject, type JsonObject } from "../batch/items.ts";
import { BulkAnswerSchema } from "../batch/results.ts";
import { profileText } from "../lists/documents.ts";
import {
  challengesQuery,
  type ListPage,
  listChallenges,
  listNotifications,
  listTransactions,
  notificationsQuery,
  transactionsQuery,
} from "../lists/lists.ts";
import type { AudienceMember } from "../member.ts";
import { applyUpdates, checkUpdate, checkUpdates, type UpdateRules } from "../profile/updates.ts";
import { answerMany, type Batch, batchOf, memberOf, userIdCharactersMax, usersQuery } from "./batch_users.ts";
import type { AudienceContext } from "./context.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";
import { updateRules, updatesBytesMax } from "./internal_profile_routes.ts";
import { pageReply } from "./list_routes.ts";
import { fieldsOf, profileReply } from "./profile_routes.ts";
import {
  ChallengesSchema,
  NotificationsSchema,
  ProfileSchema,
  ProfilesSchema,
  TransactionsSchema,
  UsersChallengesSchema,
  UsersNotificationsSchema,
  UsersTransactionsSchema,
} from "./schema.ts";

const errors = ["forbidden"] as const;
const reading = { permission: "users:read", scope: "audience:read" } as const;

/** Builds the routes of the batch convention that read. */
export function batchReadRoutes(context: AudienceContext): readonly AnyRoute[] {
  const auth = context.guards.batchAudience(reading);
  return [
    profilesRoute(context),
    looseRoute({
      method: "GET",
      path: "/api/audience/transactions",
      operation: "listSpaceTransactions",
      summary: "The transactions of one user, or with user_ids the first page of up to 100",
      auth,
      query: v.object({ ...usersQuery, ...transactionsQuery }),
      responses: {
        200: {
          description: "A page for each user",
          schema: v.union([TransactionsSchema, UsersTransactionsSchema]),
        },
      },
      errors,
      handle: ({ principal, query }) =>
        answerPages(batchOf(principal, query), query, async (member, isOwn) => {
          const page = await listTransactions(context, member, query);
          return isOwn ? page : await knownPage(context, member, page);
        }),
    }),
    looseRoute({
      method: "GET",
      path: "/api/audience/challenges",
      operation: "listSpaceChallenges",
      summary: "The challenges of one user, or with user_ids the first page of up to 100",
      auth,
      query: v.object({ ...usersQuery, ...challengesQuery }),
      responses: {
        200: {
          description: "A page for each user",
          schema: v.union([ChallengesSchema, UsersChallengesSchema]),
        },
      },
      errors,
      handle: ({ principal, query }) =>
        answerPages(batchOf(principal, query), query, async (member, isOwn) => {
          const { page, isKnown } = await listChallenges(context, member, query);
          return isOwn || isKnown ? page : null;
        }),
    }),
    looseRoute({
      method: "GET",
      path: "/api/audience/notifications",
      operation: "listSpaceNotifications",
      summary: "The notifications of one user, or with user_ids the first page of up to 100",
      auth,
      query: v.object({ ...usersQuery, ...notificationsQuery }),
      responses: {
        200: {
          description: "A page for each user",
          schema: v.union([NotificationsSchema, UsersNotificationsSchema]),
        },
      },
      errors,
      handle: ({ principal, query }) =>
        answerPages(batchOf(principal, query), query, async (member, isOwn) => {
          const page = await listNotifications(context, member, query);
          return isOwn ? page : await knownPage(context, member, page);
        }),
    }),
  ];
}

function profilesRoute({ guards, profiles }: AudienceContext): AnyRoute {
  return looseRoute({
    method: "GET",
    path: "/api/audience/profile",
    operation: "getSpaceProfiles",
    summary: "The profile of one user, or with user_ids those of up to 100",
    auth: guards.batchAudience(reading),
    query: v.object(usersQuery),
    responses: {
      200: {
        description: "The profile, or one for each user",
        schema: v.union([ProfileSchema, ProfilesSchema]),
      },
    },
    errors,
    handle: async ({ principal, query }) => {
      const batch = batchOf(principal, query);
      if (batch.kind === "one") {
        const profile = batch.isOwn ? await profiles.own(batch.member) : await profiles.see(batch.member);
        if (profile !== null) return profileReply(batch.member.userId, profile);
        throw unknownUser();
      }
      return await answerMany(batch.members, async member => {
        const profile = await profiles.see(member);
        return profile === null ? null : `{"data":${profileText(member.userId, profile)}}`;
      });
    },
  });
}

/** Builds the route of the batch convention that changes profiles. */
export function batchWriteRoutes(context: AudienceContext): readonly AnyRoute[] {
  const { guards, profiles, random } = context;
  return [
    looseRoute({
      method: "PUT",
      path: "/api/audience/profile",
      operation: "putSpaceProfiles",
      summary: "Change the profile of one user, or with a list those of up to 1,000; what is left out stays",
      auth: guards.batchAudience({ permission: "users:write", scope: "audience:write" }),
      body: { schema: v.unknown(), maxBytes: updatesBytesMax },
      responses: {
        200: {
          description: "The profile as it is now, or a result for each",
          schema: v.union([ProfileSchema, BulkAnswerSchema]),
        },
      },
      errors: ["forbidden", "precondition_failed", "conflict"],
      handle: async ({ principal, body }) => {
        const rules = await rulesFor(context, principal);
        if (!Array.isArray(body)) return await putOne(context, { caller: principal, body, rules });
        const updates = checkUpdates(body, rules);
        for (const { userId } of updates) memberOf(principal, userId);
        const batchId = `bat_${uuid(random)}`;
        return envelope(
          await applyUpdates(profiles, userId => memberOf(principal, userId), { batchId, updates }),
        );
      },
    }),
  ];
}

interface OnePut {
  readonly caller: AudienceUser | BackEnd;
  readonly body: unknown;
  readonly rules: UpdateRules;
}

/** One profile: `{user_id, data}`, where users need not say that they are themselves. */
async function putOne({ profiles }: AudienceContext, { caller, body, rules }: OnePut): Promise<Reply> {
  const { user_id: named, data, ...more } = isObject(body) ? body : {};
  const own = caller.kind === "user" ? caller.member.userId : undefined;
  const userId = named === undefined ? own : named;
  if (!isId(userId)) throw invalid("/user_id", `Expected an id of 1 to ${userIdCharactersMax} characters`);
  if (!isObject(data) || Object.keys(more).length > 0) {
    throw invalid("", "Expected an object with user_id and data, or a list of such");
  }
  const member = memberOf(caller, userId);
  await profiles.change(member, checkUpdate(data satisfies JsonObject, rules));
  return profileReply(member.userId, await profiles.own(member));
}

/** Users change what is theirs, and no metrics. */
async function rulesFor(context: AudienceContext, caller: AudienceUser | BackEnd): Promise<UpdateRules> {
  if (caller.kind === "backEnd") return await updateRules(context, caller);
  return { fields: await fieldsOf(context.directory, caller.member.organisationId), metrics: null };
}

/** A page goes on for one user alone, because its cursor is that user's. */
async function answerPages(
  batch: Batch,
  { lastEvaluatedKey }: { readonly lastEvaluatedKey?: string },
  read: (member: AudienceMember, isOwn: boolean) => Promise<ListPage | null>,
): Promise<Reply> {
  if (batch.kind === "one") {
    const page = await read(batch.member, batch.isOwn);
    if (page === null) throw unknownUser();
    return pageReply(page);
  }
  if (lastEvaluatedKey !== undefined && batch.members.length > 1) {
    throw invalid("lastEvaluatedKey", "Expected it with one user, whose list it goes on with");
  }
  return await answerMany(batch.members, async member => {
    const page = await read(member, false);
    return page === null ? null : JSON.stringify(page);
  });
}

/** An empty list may be that of a user of whom nothing is known; only then is that looked up. */
async function knownPage(
  { profiles }: AudienceContext,
  member: AudienceMember,
  page: ListPage,
): Promise<ListPage | null> {
  if (page.data.length > 0 || page.lastEvaluatedKey !== null) return page;
  return (await profiles.see(member)) === null ? null : page;
}

function unknownUser(): AppError {
  return new AppError("not_found", "Nothing is known of this user");
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot serve the request as it is not valid", {
    fields: [{ pointer, detail }],
  });
}
