/** The operations of feeds. */

import type { feedRoutes } from "../authoring/feeds/mod.ts";
import type { Area, DocumentOf } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes = RoutesOf<typeof feedRoutes>;

/** Operations of the area feeds. */
export interface FeedsOperations extends Operations<Routes> {}

/** Everything that a page shows of an event. */
export interface LiveEvent extends DocumentOf<FeedsOperations["getLiveEvent"]> {}
/** Everything that a page shows of a project. */
export interface LiveProject extends DocumentOf<FeedsOperations["getLiveProject"]> {}

/** The area feeds, for `createClient`. */
export const feeds: Area<FeedsOperations> = {
  rows: {
    getListings: "GET /projects/:prefix/:projectId/listings.json",
    getHistory: "GET /events/:prefix/:eventId/history.json",
    getLatestResults: "GET /events/:prefix/:eventId/latest_results.json",
    getLiveStats: "GET /events/:prefix/:eventId/livestats.json",
    getLiveEvent: "GET /events/:prefix/:eventId/live",
    watchEvent: "GET /events/:prefix/:eventId/live em",
    getLiveProject: "GET /projects/:prefix/:projectId/live",
    watchProject: "GET /projects/:prefix/:projectId/live em",
  } satisfies Rows<Routes>,
};
