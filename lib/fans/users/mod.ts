/**
 * The users of an organisation: listed by creation, activity and indexed metrics, and read in these orders. Entries are hints:
 * the user's own records decide.
 */

export {
  buildDeclaredIndexes,
  buildIndex,
  type DeclaredIndex,
  declaredBoards,
  declaredIndexes,
  followUser,
  indexNameCharactersMax,
  type MetricIndex,
  MetricIndexesSchema,
  MetricIndexing,
  metricIndex,
  metricIndexesMax,
  type UserMetrics,
  usableIndexes,
} from "./metric_indexes.ts";
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
  type Account,
  activityMs,
  activityWrites,
  createUserIndex,
  foldName,
  isPublicName,
  listedOrganisations,
  listingWrites,
  listRecordedUsers,
  organisationsKey,
  organisationsPartition,
  organisationWrites,
  parseAccount,
  parseAccountNote,
  type RecordedUser,
  readAccountNote,
  readStandings,
  recordedUsersMax,
  signUpProjectOf,
  textScore,
  type UserName,
  userBoards,
  userIndexPartition,
  userShardOf,
  userShardPartition,
  userShardPartitions,
  userShards,
} from "./user_index.ts";
