/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export {
  entryText,
  listAnswer,
  type ReadContext,
  readableBoard,
} from "./http/board_answers.ts";
export { eventStreamType } from "./http/event_stream.ts";
export type { HiddenUserContext } from "./http/hidden_user_routes.ts";
export { type LeaderboardContext, leaderboardRoutes } from "./http/routes.ts";
export { includeMax, limitDefault, limitMax, userIdCharactersMax } from "./http/schema.ts";
export { achievedAheadMsMax, type WriteContext } from "./http/write_routes.ts";
export { createLeaderboards, type Leaderboards, type LeaderboardsOptions } from "./leaderboards.ts";
export {
  createLiveBoards,
  type LiveBoards,
  type LiveBoardsOptions,
  type LiveRequest,
  liveHeartbeatMs,
  liveListenersMax,
  liveRetryMs,
  liveReturnMsMin,
  liveReturnSpreadMs,
} from "./live/live.ts";
export { type ListenerGroup, type LiveBoard, type LiveView, liveIntervalMs } from "./live/watcher.ts";
export { type AroundQuery, aroundAttemptsMax, readAround } from "./ranking/around.ts";
export {
  type BoardPath,
  type ResolvedBoard,
  resolveBoard,
  type SeasonQuery,
} from "./ranking/find_board.ts";
export {
  createHiddenUsers,
  type HiddenUser,
  type HiddenUsers,
  hiddenUsersAgeMsMax,
  hiddenUsersMax,
  hiddenUsersProjectsMax,
} from "./ranking/hidden_users.ts";
export {
  type Ranking,
  type RankingQuery,
  readRanking,
  readUserEntry,
  type UserEntry,
} from "./ranking/ranking.ts";
export type { RankedEntry } from "./ranking/ranks.ts";
export type { BoardChange, EntryRemoval, ScoreEntry } from "./scores/board_change.ts";
export { type BoardLocation, locateBoard } from "./scores/board_location.ts";
export { repairDistinct } from "./scores/distinct_repair.ts";
export {
  createTargetResolver,
  fedPlacesMax,
  type ResolveTarget,
  type TargetRefusal,
  type TargetResolverOptions,
} from "./scores/feed_targets.ts";
export { guardedAttemptsMax, usersPerDecisionMax } from "./scores/guarded_scores.ts";
export { type BoardAddress, boardPartition } from "./scores/partitions.ts";
export { type RebuildSource, type Rebuilt, rebuildBoard, rebuildLanes } from "./scores/rebuild.ts";
export {
  createBoardRemoval,
  type RemoveUserFromBoards,
  removalLanes,
  type UserRemovalOptions,
} from "./scores/remove_user.ts";
export { type ReplayedScore, replayScores } from "./scores/replayed_score.ts";
export {
  createRetention,
  lookAgainMsMax,
  notedSeasonsMax,
  pruneBatchMax,
  type Retention,
  type SeasonBoard,
} from "./scores/retention.ts";
export { changeScores, changesPerCommitMax } from "./scores/score_batch.ts";
export {
  createScoreDelivery,
  feedAttemptsMax,
  feedBatchMax,
  feedWaitingMax,
  type ScoreDelivery,
  type ScoreDeliveryOptions,
} from "./scores/score_feeder.ts";
export { eventSumMs, scoreTargets, sumMarginMs, type TargetQuery } from "./scores/score_targets.ts";
export { shardOf } from "./scores/shard_of.ts";
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
} from "./settings/board_settings.ts";
export { boardFaults, boardSections } from "./settings/check_settings.ts";
export { roundMax } from "./settings/declarations.ts";
export { type Season, type SeasonSchedule, seasonAliases, seasonsMax } from "./settings/season_settings.ts";
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
} from "./settings/seasons.ts";
