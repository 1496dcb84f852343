/**
 * Leaderboards of projects and events: exact competition ranks in the order in which scores were reached.
 *
 * @module
 */

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
  roundMax,
} from "./declarations.ts";
export {
  createFeeder,
  type Feeder,
  type FeederOptions,
  feedAttemptsMax,
  feedBatchMax,
  feedWaitingMax,
} from "./feeder.ts";
export { achievedAheadMsMax, type LeaderboardContext, leaderboardRoutes } from "./routes.ts";
export { includeMax, limitDefault, limitMax, scoreMax, userIdCharactersMax } from "./schema.ts";
export { scoreTargets, type TargetQuery } from "./score_targets.ts";
