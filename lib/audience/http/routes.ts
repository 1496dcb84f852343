import type { AnyRoute } from "../../http/mod.ts";
import { actionRoutes, batchStatusRoute, deadLetterRoutes, rewardRoutes } from "../actions/mod.ts";
import { batchReadRoutes, batchWriteRoutes } from "./batch_routes.ts";
import type { AudienceContext } from "./context.ts";
import { internalProfileRoutes } from "./internal_profile_routes.ts";
import { listRoutes } from "./list_routes.ts";
import { notificationRoutes } from "./notification_routes.ts";
import { productRoutes } from "./product_routes.ts";
import { profileRoutes } from "./profile_routes.ts";
import { searchRoutes } from "./search_routes.ts";

/** Builds the routes of the audience API. */
export function audienceRoutes(context: AudienceContext): readonly AnyRoute[] {
  return [
    ...profileRoutes(context),
    ...listRoutes(context),
    ...notificationRoutes(context),
    ...productRoutes(context),
    ...internalProfileRoutes(context),
    ...batchReadRoutes(context),
    ...batchWriteRoutes(context),
    ...actionRoutes(context),
    batchStatusRoute(context),
    ...deadLetterRoutes(context),
    ...rewardRoutes(context),
    ...searchRoutes(context),
  ];
}
