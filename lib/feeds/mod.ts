/**
 * The public feeds of projects and events, and the statistics that they show.
 *
 * @module
 */

export { ActionCounts } from "./action_counts.ts";
export { eventFeedUrls, feedRoutes, projectFeedUrls } from "./routes.ts";
export { readCounts } from "./sources.ts";
