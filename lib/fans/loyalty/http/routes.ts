/** The routes of the loyalty API: configuration, profile, notifications, history, coupons and the report of an action. */

import * as v from "valibot";
import type { Cursors, Permission } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { chain, empty, envelope, type Guard, type JsonText, jsonText, route } from "../../../http/mod.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Directory, Space } from "../../directory/mod.ts";
import type { SpaceCaller, SpaceVisit } from "../../space_tokens/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Challenge } from "../config/document.ts";
import type { Loyalty } from "../loyalty.ts";
import type { SpaceUser } from "../user/state.ts";
import type { RewardsProfile } from "../views/loyalty_reader.ts";
import { ActionBodySchema, HistoryQuerySchema, UserQuerySchema, VotesQuerySchema } from "./requests.ts";
import {
  ConfigResponse,
  CouponResponse,
  HistoryResponse,
  NotificationsResponse,
  ProfileResponse,
  PublicConfigSchema,
  VoteResponse,
  VotesResponse,
} from "./responses.ts";

interface LoyaltyContext {
  readonly directory: Directory;
  readonly loyalty: Loyalty;
  readonly cursors: Cursors;
  /** Finds the user of an account of the team's own, or says why there is none. */
  readonly accountUser: (
    space: Space,
    externalId: string,
  ) => Promise<{ readonly userId: string } | { readonly fault: string }>;
  readonly tokenHolder: Guard<SpaceVisit>;
  /** Takes a token of the space if there is one. */
  readonly visitor: Guard<SpaceVisit<SpaceCaller | null>, "space_id">;
}

const aboutUser = {
  method: "GET",
  errors: ["not_found", "forbidden", "insufficient_scope", "validation_failed"],
} as const;

/** Creates the loyalty routes. */
export function loyaltyRoutes(context: LoyaltyContext) {
  const { loyalty, cursors, tokenHolder: auth } = context;
  return [
    configRoute(context),
    reportRoute(context),
    couponRoute(context),
    votesRoute(context),
    route({
      ...aboutUser,
      path: "/api/loyalty/profile",
      operation: "getRewardsProfile",
      summary: "Get the user's rewards profile",
      description: "Creates an empty profile where the user has none.",
      auth,
      query: UserQuerySchema,
      responses: { 200: { description: "The rewards profile", schema: ProfileResponse } },
      handle: ({ principal, query }) =>
        chain(authorizeUser(context, principal, query, "users:read"), user =>
          chain(loyalty.profile(user), profileReply),
        ),
    }),
    route({
      ...aboutUser,
      path: "/api/loyalty/notifications",
      operation: "listLoyaltyNotifications",
      summary: "List the user's unread notifications",
      description: "Oldest first. The audience API marks notifications as read.",
      auth,
      query: UserQuerySchema,
      responses: { 200: { description: "The notifications", schema: NotificationsResponse } },
      handle: async ({ principal, query }) => {
        const user = await authorizeUser(context, principal, query, "users:read");
        return envelope(await loyalty.notifications(user));
      },
    }),
    route({
      ...aboutUser,
      path: "/api/loyalty/history",
      operation: "listLoyaltyHistory",
      summary: "List the user's transactions",
      description:
        "In ascending time. `cursor` continues the list where others may follow, even after a short or empty page.",
      auth,
      query: HistoryQuerySchema,
      responses: { 200: { description: "The transactions", schema: HistoryResponse } },
      handle: async ({ principal, query }) => {
        const user = await authorizeUser(context, principal, query, "users:read");
        const { from, to, limit, cursor } = query;
        const { organisationId, spaceId, userId } = user;
        const scope = { organisationId, spaceId, userId, resource: "history", filters: { from, to } };
        const after = cursors.open(scope, cursor, "cursor");
        const { transactions, end } = await loyalty.historyPage(user, { from, to, limit, after });
        const next = cursors.seal(scope, end);
        const page = { message: "OK", data: transactions };
        return { status: 200 as const, json: next === null ? page : { ...page, cursor: next } };
      },
    }),
  ];
}

function configRoute({ loyalty, visitor }: LoyaltyContext) {
  return route({
    method: "GET",
    path: "/api/loyalty/config",
    operation: "getLoyaltyConfig",
    summary: "Get the loyalty configuration",
    description: "With a token, the configuration for its user; without one, the public part.",
    auth: visitor,
    responses: { 200: { description: "The configuration", schema: ConfigResponse } },
    errors: ["not_found"],
    handle: async ({ principal: { space, caller } }) => {
      const { forUsers, forAll } = publicConfigs(await loyalty.config(space.id));
      return envelope(caller === null ? forAll : forUsers);
    },
  });
}

function reportRoute(context: LoyaltyContext) {
  const { loyalty, tokenHolder: auth } = context;
  return route({
    method: "POST",
    path: "/api/loyalty/action",
    operation: "reportAction",
    summary: "Report an action of the user",
    description:
      "The next read of the user's loyalty shows the effects; leaderboards follow in the background, usually within a second. Reports of a user with the same `actionId` take effect once. An action whose `data.elementId` is an element is a vote for the `data.option` that it names, from 1 on.",
    auth,
    query: UserQuerySchema,
    body: { schema: ActionBodySchema, example: { action: "prediction", data: {} } },
    responses: {
      200: {
        description:
          "The action has taken effect, now or when its id was first reported. For a vote the body has the user's votes for the element; else it is empty",
        schema: VoteResponse,
        mayBeEmpty: true,
      },
    },
    errors: [
      "not_found",
      "forbidden",
      "insufficient_scope",
      "rate_limited",
      "vote_closed",
      "vote_limit",
      "option",
      "email_not_verified",
    ],
    handle: async ({ principal, query, body }) => {
      const isClientReport = principal.caller.kind === "user";
      const user = await authorizeUser(context, principal, query, "actions:write");
      const { vote } = isClientReport
        ? await loyalty.report(user, { ...body, isClientReport })
        : await loyalty.report(
            { ...user, projectId: null },
            { ...body, isClientReport, projectId: user.projectId ?? undefined },
          );
      return vote === null ? empty(200) : envelope({ counted: true, ...vote });
    },
  });
}

function votesRoute(context: LoyaltyContext) {
  const { loyalty, tokenHolder: auth } = context;
  return route({
    ...aboutUser,
    path: "/api/loyalty/votes",
    operation: "listOwnVotes",
    summary: "List the user's votes in an event",
    description: "In the order of the event's elements, those without votes left out.",
    auth,
    query: VotesQuerySchema,
    responses: { 200: { description: "The votes", schema: VotesResponse } },
    handle: async ({ principal, query }) => {
      const user = await authorizeUser(context, principal, query, "users:read");
      return envelope(await loyalty.votes(user, query.event_id));
    },
  });
}

function couponRoute(context: LoyaltyContext) {
  const { loyalty, tokenHolder: auth } = context;
  return route({
    ...aboutUser,
    path: "/api/loyalty/coupons/:couponId",
    operation: "getCoupon",
    summary: "Get a coupon of the user",
    description: "Returns the coupon with its code. An expired coupon is not found.",
    auth,
    params: v.object({
      couponId: v.pipe(
        v.string(),
        v.description("Id of the user's own coupon, or of a coupon of the configuration for the newest one"),
      ),
    }),
    query: UserQuerySchema,
    responses: { 200: { description: "The coupon", schema: CouponResponse } },
    handle: async ({ principal, params, query }) => {
      const user = await authorizeUser(context, principal, query, "users:read");
      return envelope(await loyalty.coupon(user, params.couponId));
    },
  });
}

/**
 * Returns the user whom the caller may act for: named by the query with a service token, else the token's own. Users reach only their
 * own data here, in the project that they signed in to, so their tokens need no scope: those of the token are of the audience API.
 *
 * @param permission The permission that a service token needs.
 */
function authorizeUser(
  context: Pick<LoyaltyContext, "directory" | "accountUser">,
  { caller, space }: SpaceVisit,
  query: v.InferOutput<typeof UserQuerySchema>,
  permission: Permission,
): SpaceUser | Promise<SpaceUser> {
  const { organisationId, id: spaceId } = space;
  const { user_id: userId, external_id: externalId, project_id: projectId } = query;
  if (caller.kind === "user") {
    if (externalId !== undefined) {
      throw new AppError("forbidden", "Cannot act for an account with a user's token");
    }
    if (userId !== undefined && userId !== caller.userId) {
      throw new AppError("forbidden", "Cannot act for another user with a user's token");
    }
    if (projectId !== undefined && projectId !== caller.projectId) {
      throw new AppError("forbidden", "Cannot act in another project with a user's token");
    }
    return { organisationId, spaceId, userId: caller.userId, projectId: caller.projectId };
  }
  if (!caller.permissions.includes(permission)) {
    throw new AppError("insufficient_scope", `The service token lacks the permission ${permission}`);
  }
  if (externalId !== undefined) {
    if (userId !== undefined) throw invalidQuery("external_id", "Expected one of user_id and external_id");
    return accountOf(context, space, { externalId, projectId });
  }
  if (userId === undefined) throw invalidQuery("user_id", "Is required");
  return inProject(context, { organisationId, spaceId, userId, projectId: projectId ?? null });
}

/** Returns the user of an account whose id a service token gives. */
async function accountOf(
  context: Pick<LoyaltyContext, "directory" | "accountUser">,
  space: Space,
  {
    externalId,
    projectId = null,
  }: { readonly externalId: string; readonly projectId: string | null | undefined },
): Promise<SpaceUser> {
  const { organisationId, id: spaceId } = space;
  const account = await context.accountUser(space, externalId);
  if ("fault" in account) throw invalidQuery("external_id", account.fault);
  return await inProject(context, { organisationId, spaceId, userId: account.userId, projectId });
}

/** @throws {AppError} `validation_failed`: the project of the user is none of the space. */
function inProject(
  { directory }: Pick<LoyaltyContext, "directory">,
  user: SpaceUser,
): SpaceUser | Promise<SpaceUser> {
  const { projectId, spaceId } = user;
  if (projectId === null) return user;
  return chain(directory.project(projectId), project => {
    if (project?.spaceId === spaceId) return user;
    throw invalidQuery("project_id", "Expected the id of a project of the space");
  });
}

function invalidQuery(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot serve a service token that names no user of the space", {
    fields: [{ pointer, detail }],
  });
}

/** Writes a profile once, because clients ask repeatedly while nothing has changed. */
const profileReply = memoize((profile: RewardsProfile) =>
  jsonText(
    JSON.stringify({ message: "OK", data: profile }) as JsonText<v.InferOutput<typeof ProfileResponse>>,
  ),
);

/** Leaves out of a configuration what its schema for clients does not have, such as conditions. */
const publicConfigs = memoize(({ config }: CompiledConfig) => {
  const isPublic = ({ visibility }: Challenge): boolean => visibility === "public";
  return {
    forUsers: v.parse(PublicConfigSchema, config),
    forAll: v.parse(PublicConfigSchema, { ...config, challenges: config.challenges.filter(isPublic) }),
  };
});
