/**
 * A user's notifications: listing them, and marking one as read.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import { isoTimeOrNull } from "../_times.ts";
import type { AudienceContext } from "./context.ts";

const ReadSchema = v.object({
  message: v.string(),
  data: v.object({ notificationId: v.string(), isRead: v.literal(true), readAt: v.string() }),
});

/** Builds the routes of notifications. */
export function notificationRoutes({ guards, loyalty }: AudienceContext): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/notifications/:notificationId/read",
      operation: "readAudienceNotification",
      summary: "Mark a notification as read; one that is read already keeps its time",
      auth: guards.publicAudience("audience:write"),
      params: v.object({ notificationId: v.string() }),
      responses: { 200: { description: "The notification is read", schema: ReadSchema } },
      errors: ["not_found"],
      handle: async ({ principal: { member }, params }) => {
        const { id, readAt } = await loyalty.inbox.markRead(member, params.notificationId);
        return envelope({ notificationId: id, isRead: true, readAt: isoTimeOrNull(readAt) });
      },
    }),
  ];
}
