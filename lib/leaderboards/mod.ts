/**
 * Leaderboards of projects and events: exact competition ranks in the order in which scores were reached.
 *
 * @module
 */

export { type BoardAddress, boardPartition, shardOf } from "./address.ts";
export {
  type Board,
  type BoardPath,
  findBoard,
  type RankedUser,
  type Ranking,
  type RankingQuery,
  readPlace,
  readRanking,
} from "./board.ts";
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
export { roundMax } from "./declarations.ts";
export {
  createFeeder,
  type Feeder,
  type FeederOptions,
  feedAttemptsMax,
  feedBatchMax,
  feedWaitingMax,
} from "./feeder.ts";
export { achievedAheadMsMax, type LeaderboardContext, leaderboardRoutes } from "./routes.ts";
export { includeMax, limitDefault, limitMax, userIdCharactersMax } from "./schema.ts";
export { scoreTargets, type TargetQuery } from "./score_targets.ts";
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
