/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export type { LeaderboardContext, PublicProfiles } from "./http/read_routes.ts";
export { createPublicBoards, type PublicBoards } from "./http/read_routes.ts";
export { leaderboardRoutes } from "./http/routes.ts";
export type { LeaderboardEntry } from "./http/schema.ts";
export { createLeaderboards, type Leaderboards } from "./leaderboards.ts";
export { createHiddenUsers, type HiddenUsers } from "./ranking/hidden_users.ts";
export type { Rebuilt } from "./scores/rebuild.ts";
export { type BoardPreview, createBoardPreview } from "./scores/rebuild.ts";
export type { BoardPath } from "./scores/resolve_board.ts";
export type {
  Earning,
  Gain,
  RecountedSum,
  ScoreTarget,
  ScoreUpdate,
  TargetQuery,
  UserEarnings,
} from "./scores/score_delivery.ts";
