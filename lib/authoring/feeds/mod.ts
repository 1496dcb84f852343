/** The public feeds of projects and events, and the statistics that they show. */

export { ActionCounts } from "./action_counts.ts";
export { answersMax, findAnswers, keepAnswer, listAnswers } from "./answers.ts";
export { analyticsKey, analyticsKeys, EventAnalytics } from "./event_analytics.ts";
export { listingsOf } from "./event_feeds.ts";
export { FeedView } from "./live_routes.ts";
export { readAnalytics } from "./read_analytics.ts";
export { feedRoutes } from "./routes.ts";
export { eventFeedUrls, feedKey, Owners, projectFeedUrls, readCounts, Sources } from "./sources.ts";
export { VotedElements } from "./voted_elements.ts";
