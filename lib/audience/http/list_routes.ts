/**
 * A user's own lists.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, looseRoute } from "../../http/mod.ts";
import {
  challengesQuery,
  type ListPage,
  listChallenges,
  listNotifications,
  listTransactions,
  notificationsQuery,
  transactionsQuery,
} from "../lists/lists.ts";
import type { AudienceContext } from "./context.ts";
import { ChallengesSchema, NotificationsSchema, TransactionsSchema } from "./schema.ts";

/** Builds the routes of users' own lists. */
export function listRoutes(context: AudienceContext): readonly AnyRoute[] {
  const auth = context.guards.publicAudience("audience:read");
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/transactions",
      operation: "listAudienceTransactions",
      summary: "The user's transactions, newest first; a page may be short although there are more",
      auth,
      query: v.object(transactionsQuery),
      responses: { 200: { description: "A page of the transactions", schema: TransactionsSchema } },
      handle: async ({ principal, query }) =>
        pageReply(await listTransactions(context, principal.member, query)),
    }),
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/challenges",
      operation: "listAudienceChallenges",
      summary: "The user's challenges: those that are not over first, by when they end",
      auth,
      query: v.object(challengesQuery),
      responses: { 200: { description: "A page of the challenges", schema: ChallengesSchema } },
      handle: async ({ principal, query }) =>
        pageReply((await listChallenges(context, principal.member, query)).page),
    }),
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/notifications",
      operation: "listAudienceNotifications",
      summary: "The user's notifications, newest first, with the number of unread ones",
      auth,
      query: v.object(notificationsQuery),
      responses: { 200: { description: "A page of the notifications", schema: NotificationsSchema } },
      handle: async ({ principal, query }) =>
        pageReply(await listNotifications(context, principal.member, query)),
    }),
  ];
}

/** A page in its envelope. */
export function pageReply(page: ListPage): { readonly status: 200; readonly json: unknown } {
  return { status: 200, json: { message: "OK", ...page } };
}
