/**
 * The public feeds of projects and events, and the statistics that they show.
 *
 * @module
 */

export { ActionCounts } from "./action_counts.ts";
export { eventFeedUrls, projectFeedUrls } from "./feed_paths.ts";
export { feedRoutes } from "./routes.ts";
export { readCounts } from "./sources.ts";
