/**
 * The users of an organisation: listed by creation, activity and indexed metrics, and read in these orders. Entries are hints:
 * the user's own records decide.
 *
 * @module
 */

export {
  buildDeclaredIndexes,
  buildMetricIndex,
  builtIndexes,
  declaredIndexes,
  indexNameCharactersMax,
  type MetricIndex,
  MetricIndexesSchema,
  type MetricIndexSource,
  metricIndexesMax,
  metricIndexesOf,
} from "./metric_indexes.ts";
export { type IndexedScoreFeed, indexMetrics } from "./metric_indexing.ts";
export { isPublicName } from "./public_name.ts";
export {
  type OrderedUsers,
  sampleRanges,
  type UserOrder,
  type UserRange,
  usersInRange,
  walkNamedUsers,
  walkUsers,
} from "./read_users.ts";
export {
  type AccountNote,
  createUserIndex,
  listedOrganisations,
  listRecordedUsers,
  parseAccountNote,
  type RecordedUser,
  readAccountNote,
  recordedUsersMax,
} from "./user_index.ts";
export {
  activityMs,
  activityWrites,
  listingWrites,
  organisationsKey,
  organisationsPartition,
  organisationWrites,
  userBoards,
  userIndexPartition,
  userShardOf,
  userShardPartition,
  userShardPartitions,
  userShards,
} from "./user_shards.ts";
