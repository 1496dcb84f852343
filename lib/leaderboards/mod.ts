/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export { type BoardAddress, boardPartition } from "./address.ts";
export { type AroundQuery, aroundAttemptsMax, readAround } from "./around.ts";
export {
  entryText,
  listAnswer,
  type ReadContext,
  readableBoard,
} from "./board_answers.ts";
export type { BoardChange, EntryRemoval, ScoreEntry } from "./board_change.ts";
export {
  type BoardDeclaration,
  type BoardOperator,
  type BoardSource,
  boardAmountMax,
  declarationsMax,
  graceMsDefault,
  graceMsMax,
  keepSeasonsDefault,
  keepSeasonsMax,
  parseBoards,
  type RankStyle,
  scoreMax,
  shardsMax,
} from "./board_settings.ts";
export { boardFaults, boardSections } from "./check_settings.ts";
export { roundMax } from "./declarations.ts";
export { repairDistinct } from "./distinct_repair.ts";
export {
  type FedPlacesOptions,
  type FeedRefusal,
  type FindFedPlace,
  fedPlaces,
  fedPlacesMax,
} from "./fed_places.ts";
export {
  createFeeder,
  type Feeder,
  type FeederOptions,
  feedAttemptsMax,
  feedBatchMax,
  feedWaitingMax,
} from "./feeder.ts";
export { type Board, type BoardPath, findBoard, type SeasonQuery } from "./find_board.ts";
export { guardedAttemptsMax, usersPerDecisionMax } from "./guarded_scores.ts";
export type { HiddenUserContext } from "./hidden_user_routes.ts";
export {
  createHiddenUsers,
  type HiddenUser,
  type HiddenUsers,
  hiddenUsersAgeMsMax,
  hiddenUsersMax,
  hiddenUsersProjectsMax,
} from "./hidden_users.ts";
export { createLeaderboards, type Leaderboards, type LeaderboardsOptions } from "./leaderboards.ts";
export {
  createLive,
  type LiveBoards,
  type LiveOptions,
  type LiveRequest,
  liveHeartbeatMs,
  liveListenersMax,
  liveRetryMs,
  liveReturnMsMin,
  liveReturnSpreadMs,
} from "./live.ts";
export { eventStreamType } from "./live_reply.ts";
export { type Group, type LiveBoard, type LiveView, liveIntervalMs } from "./live_watcher.ts";
export { type BoardPlace, placeOf } from "./place.ts";
export { type Place, type Ranking, type RankingQuery, readPlace, readRanking } from "./ranking.ts";
export type { RankedUser } from "./ranks.ts";
export { type RebuildSource, type Rebuilt, rebuildBoard, rebuildLanes } from "./rebuild.ts";
export {
  createUserRemoval,
  type RemoveUserFromBoards,
  removalLanes,
  type UserRemovalOptions,
} from "./remove_user.ts";
export { type ReplayedScore, replayScores } from "./replayed_score.ts";
export {
  createRetention,
  lookAgainMsMax,
  notedSeasonsMax,
  pruneBatchMax,
  type Retention,
  type SeasonBoard,
} from "./retention.ts";
export { type LeaderboardContext, leaderboardRoutes } from "./routes.ts";
export { includeMax, limitDefault, limitMax, userIdCharactersMax } from "./schema.ts";
export { changesPerCommitMax, scoreBatch } from "./score_batch.ts";
export { eventSumMs, scoreTargets, sumMarginMs, type TargetQuery } from "./score_targets.ts";
export { type Season, type SeasonSchedule, seasonAliases, seasonsMax } from "./season_settings.ts";
export {
  closesAt,
  keptUntil,
  listSeasons,
  openSeason,
  previousSeason,
  requireOpen,
  resolveSeason,
  type Seasonal,
  seasonById,
  seasonOf,
} from "./seasons.ts";
export { shardOf } from "./shard_of.ts";
export { achievedAheadMsMax, type WriteContext } from "./write_routes.ts";
