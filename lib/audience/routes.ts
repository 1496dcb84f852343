import type { AnyRoute } from "../http/mod.ts";
import { actionRoutes, deadLetterRoutes, rewardRoutes } from "./actions/mod.ts";
import type { AudienceContext } from "./context.ts";
import { notificationRoutes } from "./notification_routes.ts";

/** Builds the routes of the audience API. */
export function audienceRoutes(context: AudienceContext): readonly AnyRoute[] {
  return [
    ...notificationRoutes(context),
    ...actionRoutes(context),
    ...deadLetterRoutes(context),
    ...rewardRoutes(context),
  ];
}
