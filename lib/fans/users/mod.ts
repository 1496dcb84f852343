/**
 * The users of an organisation: listed by creation, activity and indexed metrics, and read in these orders. Entries are hints:
 * the user's own records decide.
 *
 * @module
 */

export { aheadMsMax, futureEntries, redateEntries } from "./future_entries.ts";
export {
  type BuiltIndex,
  buildDeclaredIndexes,
  buildIndex,
  buildMetricIndex,
  type DeclaredIndex,
  declaredBoards,
  declaredFields,
  declaredIndexes,
  fieldMark,
  indexNameCharactersMax,
  type MetricIndex,
  MetricIndexesSchema,
  MetricIndexing,
  type MetricIndexSource,
  metricIndexesMax,
  metricIndexesOf,
  metricMark,
  type UsableIndexes,
  type UserMetrics,
  usableIndexes,
} from "./metric_indexes.ts";
export { buildNameIndex, type NameSource } from "./name_index.ts";
export { foldName, textScore } from "./names.ts";
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
  activityMs,
  activityWrites,
  createUserIndex,
  isPublicName,
  listedOrganisations,
  listingWrites,
  listRecordedUsers,
  organisationsKey,
  organisationsPartition,
  organisationWrites,
  parseAccountNote,
  type RecordedUser,
  readAccountNote,
  recordedUsersMax,
  signUpProjectOf,
  userBoards,
  userIndexPartition,
  userShardOf,
  userShardPartition,
  userShardPartitions,
  userShards,
} from "./user_index.ts";
