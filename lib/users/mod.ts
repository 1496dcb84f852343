/**
 * The index of an organisation's users: everybody who ever was there, by when they came, by when something last happened to
 * them, and by the metrics that the organisation has indexed. Entries are hints: the user's own records decide.
 *
 * @module
 */

export {
  declaredIndexes,
  indexNameCharactersMax,
  MetricIndexesSchema,
  metricIndexesMax,
  metricIndexesOf,
} from "./declared.ts";
export * from "./listed_users.ts";
export * from "./listing.ts";
export * from "./metric_feed.ts";
export * from "./places.ts";
export { isPublicName } from "./public_name.ts";
export * from "./ranges.ts";
export * from "./rebuild.ts";
export * from "./recorded_users.ts";
export * from "./walk.ts";
