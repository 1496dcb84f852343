/**
 * The leaderboards of all projects, as the rest of the platform sees them.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { Logger, Timer } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";
import { createLiveBoards, type LiveBoards } from "./live/live.ts";
import { type BoardPath, resolveBoard } from "./ranking/find_board.ts";
import { repairDistinct } from "./scores/distinct_repair.ts";
import { createTargetResolver } from "./scores/feed_targets.ts";
import { type Rebuilt, rebuildBoard } from "./scores/rebuild.ts";
import { createBoardRemoval, type RemoveUserFromBoards } from "./scores/remove_user.ts";
import { replayScores } from "./scores/replayed_score.ts";
import { createRetention, type Retention } from "./scores/retention.ts";
import type { ScoreFeed } from "./scores/score_feed.ts";
import { createScoreDelivery } from "./scores/score_feeder.ts";
import { scoreTargets } from "./scores/score_targets.ts";
import type { ReadEarnings } from "./scores/user_earnings.ts";

/** Feeds boards and tidies them up. */
export interface Leaderboards extends Retention {
  /** Brings what users earn to the boards. */
  readonly feed: ScoreFeed;
  /**
   * Rebuilds a board that is fed by what users do, while it is read and fed, and makes it the only thing that it was rebuilt
   * from: see `rebuildBoard` and `replayScores`.
   *
   * @throws {AppError} those of `findBoard`, and `conflict` for a board that back ends write to.
   */
  rebuild(path: BoardPath & { readonly season?: string }, from: RebuildFrom): Promise<Rebuilt>;
  /**
   * Counts the distinct scores of a board with dense ranks anew, as when it has just been declared so; others stay as they are.
   *
   * @throws {AppError} those of `findBoard`.
   */
  repairRanks(path: BoardPath & { readonly season?: string }): Promise<void>;
  /** Takes a user off the boards of a project. */
  readonly removeUser: RemoveUserFromBoards;
  /** Sends boards to those who listen. */
  readonly live: LiveBoards;
  /** Resolves when no score waits for its board any more. */
  idle(): Promise<void>;
}

/** What a board is rebuilt from. */
export interface RebuildFrom {
  /** Everybody who may have to be on the board, in any order. */
  readonly users: AsyncIterable<string>;
  readonly earningsOf: ReadEarnings;
}

/** What leaderboards need. */
export interface LeaderboardsOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly logger: Logger;
  /** @default systemTimer */
  readonly timer?: Timer;
}

/** Creates the leaderboards of all projects. */
export function createLeaderboards(options: LeaderboardsOptions): Leaderboards {
  const { store, directory, clock, logger, timer } = options;
  const retention = createRetention({ store, directory, clock });
  const feeder = createScoreDelivery({
    store,
    resolveTarget: createTargetResolver({ directory, clock, retention }),
    onGivenUp: error => logger.log("warn", "board_update_deferred", { error: String(error) }),
    onRefused: (target, because, count) =>
      logger.log("warn", "board_update_refused", { target, because, count }),
  });
  return {
    ...retention,
    feed: {
      targets: (projectId, query) => (projectId === null ? [] : scoreTargets(directory, projectId, query)),
      deliver: feeder.deliver,
    },
    async rebuild({ season, ...path }, { users, earningsOf }) {
      const board = await resolveBoard(directory, path, { now: clock(), season });
      const scoreOf = replayScores(board);
      return await rebuildBoard(store, board.location, {
        users,
        async scoreOf(userId) {
          const earnings = await earningsOf(userId);
          return earnings === null ? null : scoreOf(earnings);
        },
      });
    },
    async repairRanks({ season, ...path }) {
      const { location } = await resolveBoard(directory, path, { now: clock(), season });
      if (location.rankStyle === "dense") await repairDistinct(store, location.shards[0]);
    },
    removeUser: createBoardRemoval({ store, directory, clock }),
    live: createLiveBoards({
      clock,
      ...(timer === undefined ? {} : { timer }),
      onFailed: error => logger.log("warn", "live_board_failed", { error: String(error) }),
    }),
    idle: feeder.idle,
  };
}
