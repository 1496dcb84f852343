/**
 * The public feeds of projects and events, and the statistics that they show.
 *
 * @module
 */

export { ActionCounts } from "./action_counts.ts";
export { eventFeedUrls, projectFeedUrls } from "./feed_paths.ts";
export { Owners } from "./owners.ts";
export { feedRoutes } from "./routes.ts";
export { readCounts, Sources } from "./sources.ts";
export { VotedElements } from "./voted_elements.ts";
