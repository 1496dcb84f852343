/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export type { LeaderboardContext } from "./http/read_routes.ts";
export { createPublicBoards, type PublicBoards } from "./http/read_routes.ts";
export { leaderboardRoutes } from "./http/routes.ts";
export { includeMax, type LeaderboardEntry, ListSchema, limitMax, limitParameter } from "./http/schema.ts";
export { createLeaderboards, type FedBoards, type Leaderboards } from "./leaderboards.ts";
export {
  createHiddenUsers,
  type HiddenUser,
  type HiddenUsers,
  hiddenUsersMax,
} from "./ranking/hidden_users.ts";
export type { Rebuilt } from "./scores/rebuild.ts";
export {
  type BoardPreview,
  type ComparedBoard,
  comparedBoards,
  createBoardPreview,
  type Difference,
} from "./scores/rebuild.ts";
export type { BoardPath } from "./scores/resolve_board.ts";
export type {
  Earning,
  Gain,
  ReadRecordedScore,
  RecordedScore,
  RecordedTarget,
  RecountedSum,
  ScoreTarget,
  ScoreUpdate,
  TargetQuery,
  UserEarnings,
} from "./scores/score_delivery.ts";
export type { Season, SeasonSchedule } from "./settings/board_settings.ts";
export {
  type BoardDeclaration,
  BoardIdSchema,
  boardFaults,
  parseBoards,
  roundMax,
  scoreMax,
} from "./settings/board_settings.ts";
