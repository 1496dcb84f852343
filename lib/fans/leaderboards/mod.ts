/**
 * Leaderboards of projects and events: exact ranks in the order in which scores were reached, over one or many shards.
 *
 * @module
 */

export type { LeaderboardEntry } from "./http/schema.ts";
export type { Leaderboards } from "./leaderboards.ts";
export type { Rebuilt } from "./scores/rebuild.ts";
export type { BoardPath } from "./scores/resolve_board.ts";
export type { Earning, Gain, RecountedSum, UserEarnings } from "./scores/score_delivery.ts";
