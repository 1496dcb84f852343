/**
 * The routes of the loyalty API: configuration, profile, notifications, history, coupons and the report of an action.
 *
 * @module
 */

import * as v from "valibot";
import type { Permission } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  type AnyRoute,
  chain,
  envelope,
  type Guard,
  type JsonText,
  jsonText,
  looseRoute,
  type Reply,
} from "../../http/mod.ts";
import type { SpaceCaller, SpaceVisit } from "../../space_tokens/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Challenge } from "../config/document.ts";
import type { Loyalty } from "../loyalty.ts";
import type { Member } from "../user/member.ts";
import type { RewardsProfile } from "../views/profile.ts";
import { ActionBodySchema, HistoryQuerySchema, type MemberQuery, MemberQuerySchema } from "./requests.ts";
import {
  ConfigResponse,
  CouponResponse,
  HistoryResponse,
  NotificationsResponse,
  ProfileResponse,
} from "./responses.ts";

/** What the routes work with. */
export interface LoyaltyContext {
  readonly directory: Directory;
  readonly loyalty: Loyalty;
  /** Demands a token of the space. */
  readonly member: Guard<SpaceVisit>;
  /** Takes a token of the space if there is one. */
  readonly visitor: Guard<SpaceVisit<SpaceCaller | null>>;
}

/** Builds the loyalty routes. */
export function loyaltyRoutes(context: LoyaltyContext): readonly AnyRoute[] {
  const { loyalty, member, visitor } = context;
  const memberOf = memberFinder(context.directory);
  return [
    looseRoute({
      method: "GET",
      path: "/api/loyalty/config",
      operation: "getLoyaltyConfig",
      summary: "The loyalty configuration: for the user whose token is sent, or else its public part",
      auth: visitor,
      responses: { 200: { description: "The configuration", schema: ConfigResponse } },
      errors: ["not_found"],
      handle: ({ principal: { space, caller } }) =>
        chain(loyalty.config(space.id), config => envelope(shownConfig(config, caller !== null))),
    }),
    looseRoute({
      method: "GET",
      path: "/api/loyalty/profile",
      operation: "getRewardsProfile",
      summary: "The user's rewards profile; an empty one is created where there is none",
      auth: member,
      query: MemberQuerySchema,
      responses: { 200: { description: "The rewards profile", schema: ProfileResponse } },
      errors: ["not_found", "forbidden", "insufficient_scope", "validation_failed"],
      handle: async ({ principal, query }) =>
        profileReply(await loyalty.profile(await memberOf(principal, query, "users:read"))),
    }),
    looseRoute({
      method: "GET",
      path: "/api/loyalty/notifications",
      operation: "listLoyaltyNotifications",
      summary: "The user's unread notifications, oldest first",
      auth: member,
      query: MemberQuerySchema,
      responses: { 200: { description: "The notifications", schema: NotificationsResponse } },
      errors: ["not_found", "forbidden", "insufficient_scope", "validation_failed"],
      handle: async ({ principal, query }) =>
        envelope(await loyalty.notifications(await memberOf(principal, query, "users:read"))),
    }),
    looseRoute({
      method: "GET",
      path: "/api/loyalty/history",
      operation: "listLoyaltyHistory",
      summary: "The user's transactions in ascending time",
      auth: member,
      query: HistoryQuerySchema,
      responses: { 200: { description: "The transactions", schema: HistoryResponse } },
      errors: ["not_found", "forbidden", "insufficient_scope", "validation_failed"],
      handle: async ({ principal, query }) =>
        envelope(await loyalty.history(await memberOf(principal, query, "users:read"), query)),
    }),
    reportRoute(context, memberOf),
    couponRoute(context, memberOf),
  ];
}

function reportRoute({ loyalty, member }: LoyaltyContext, memberOf: MemberFinder): AnyRoute {
  return looseRoute({
    method: "POST",
    path: "/api/loyalty/action",
    operation: "reportAction",
    summary: "Report an action of the user; its effects are visible to the next read",
    auth: member,
    query: MemberQuerySchema,
    body: { schema: ActionBodySchema },
    responses: {
      200: { description: "The action has taken effect, now or when its id was first reported" },
    },
    errors: ["not_found", "forbidden", "insufficient_scope", "rate_limited"],
    handle: async ({ principal, query, body }): Promise<Reply> => {
      const isClientReport = principal.caller.kind === "user";
      const about = await memberOf(principal, query, "actions:write");
      await loyalty.report(about, { ...body, isClientReport });
      return { status: 200 };
    },
  });
}

function couponRoute({ loyalty, member }: LoyaltyContext, memberOf: MemberFinder): AnyRoute {
  return looseRoute({
    method: "GET",
    path: "/api/loyalty/coupons/:couponId",
    operation: "getCoupon",
    summary: "A coupon of the user, by its own id or the newest one of a coupon of the configuration",
    auth: member,
    params: v.object({ couponId: v.string() }),
    query: MemberQuerySchema,
    responses: { 200: { description: "The coupon", schema: CouponResponse } },
    errors: ["not_found", "forbidden", "insufficient_scope", "validation_failed"],
    handle: async ({ principal, params, query }) =>
      envelope(await loyalty.coupon(await memberOf(principal, query, "users:read"), params.couponId)),
  });
}

const profileTexts = new WeakMap<RewardsProfile, string>();

/** The profile as text that is written once per state, because clients ask again and again while nothing has changed. */
function profileReply(profile: RewardsProfile): Reply {
  const text = profileTexts.get(profile) ?? JSON.stringify({ message: "OK", data: profile });
  profileTexts.set(profile, text);
  return jsonText(text as JsonText<unknown>);
}

/** Finds the user that a call is about. */
type MemberFinder = (visit: SpaceVisit, query: MemberQuery, permission: Permission) => Promise<Member>;

/** The token's own user, or the one that a back end with the permission names. */
function memberFinder(directory: Directory): MemberFinder {
  return async ({ caller, space }, { user_id: named, project_id: projectId }, permission) => {
    const { organisationId, id: spaceId } = space;
    if (caller.kind === "user") {
      if (named !== undefined && named !== caller.userId) {
        throw new AppError("forbidden", "Cannot act for another user with a user's token");
      }
      return { organisationId, spaceId, userId: caller.userId, projectId: caller.projectId };
    }
    if (!caller.permissions.includes(permission)) {
      throw new AppError("insufficient_scope", `The service token lacks the permission ${permission}`);
    }
    if (named === undefined) throw invalid("user_id", "Is required");
    if (projectId === undefined) return { organisationId, spaceId, userId: named, projectId: null };
    const project = await directory.project(projectId);
    if (project?.spaceId !== spaceId)
      throw invalid("project_id", "Expected the id of a project of the space");
    return { organisationId, spaceId, userId: named, projectId };
  };
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot serve a service token that names no user of the space", {
    fields: [{ pointer, detail }],
  });
}

/** What of a configuration clients see: never what earns something. */
function shownConfig({ config }: CompiledConfig, isMember: boolean): unknown {
  return {
    metrics: config.metrics.map(({ id, title, media, defaultValue, minimumValue, maximumValue }) => ({
      id,
      title,
      media,
      defaultValue,
      minimumValue,
      maximumValue,
    })),
    inventory: config.inventory,
    challenges: config.challenges
      .filter(({ visibility }) => isMember || visibility === "public")
      .map(shownChallenge),
  };
}

function shownChallenge(challenge: Challenge): unknown {
  const { id, title, subtitle, notification, showInProfile, showInRail, time, missions, rewards } = challenge;
  const shown = missions.map(({ id, title, type, notification }) => ({ id, title, type, notification }));
  return { id, title, subtitle, notification, showInProfile, showInRail, time, missions: shown, rewards };
}
