/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export type { LeaderboardContext } from "./http/answers.ts";
export { createPublicBoards, type PublicBoards } from "./http/live_parts.ts";
export { leaderboardRoutes } from "./http/routes.ts";
export { includeMax, type LeaderboardEntry, ListSchema, limitMax, limitParameter } from "./http/schema.ts";
export { createLeaderboards, type FedBoards, type Leaderboards } from "./leaderboards.ts";
export { LiveStreams, liveHeartbeatMs, liveListenersMax } from "./live/live_streams.ts";
export type { LivePart, LiveSource, LiveView, Rendered } from "./live/watcher.ts";
export {
  createHiddenUsers,
  type HiddenUser,
  type HiddenUsers,
  hiddenUsersMax,
} from "./ranking/hidden_users.ts";
export { type ComparedBoard, comparedBoards, type Difference } from "./scores/compare.ts";
export { type BoardPreview, createBoardPreview } from "./scores/preview.ts";
export type { Rebuilt } from "./scores/rebuild.ts";
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
} from "./scores/score_feed.ts";
export {
  type BoardDeclaration,
  BoardIdSchema,
  boardFaults,
  parseBoards,
  scoreMax,
} from "./settings/board_settings.ts";
export { roundMax } from "./settings/declared_boards.ts";
export type { Season, SeasonSchedule } from "./settings/season_settings.ts";
