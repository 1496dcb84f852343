/**
 * The leaderboards of all projects, as the rest of the platform uses them.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { Logger, Timer } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";
import { LiveBoards } from "./live/live_boards.ts";
import { repairDistinctScores } from "./scores/distinct_scores.ts";
import { type RebuildSource, type Rebuilt, rebuildBoard } from "./scores/rebuild.ts";
import { createEntryRemoval, type RemoveUserFromBoards } from "./scores/remove_entries.ts";
import { type BoardPath, resolveBoard } from "./scores/resolve_board.ts";
import { createRetention, type Retention } from "./scores/retention.ts";
import { ScoreDelivery } from "./scores/score_delivery.ts";
import type { ScoreFeed } from "./scores/score_feed.ts";
import { createTargetResolver, scoreTargets } from "./scores/score_targets.ts";

/** Writes to boards outside of requests, and streams them. */
export interface Leaderboards extends Retention {
  /** Delivers what users earn to the boards. */
  readonly feed: ScoreFeed;
  /**
   * Rebuilds a board from recorded earnings, while it is read and fed.
   *
   * @throws {AppError} the errors of `resolveBoard`; `conflict` for a board whose scores back ends write.
   */
  rebuild(path: BoardPath & { readonly season?: string }, source: RebuildSource): Promise<Rebuilt>;
  /**
   * Recounts the distinct scores of a board with dense ranks, for example after it was declared dense.
   *
   * @throws {AppError} the errors of `resolveBoard`.
   */
  repairRanks(path: BoardPath & { readonly season?: string }): Promise<void>;
  /** Removes a user from the boards of a project. */
  readonly removeUser: RemoveUserFromBoards;
  /** Streams boards to listeners. */
  readonly live: LiveBoards;
  /** Resolves when no score waits for its board any more. */
  idle(): Promise<void>;
}

/** Dependencies of the leaderboards. */
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
  const delivery = new ScoreDelivery({
    store,
    resolveTarget: createTargetResolver({ directory, clock, retention }),
    onGivenUp: error => logger.log("warn", "board_update_deferred", { error: String(error) }),
    onRefused: (target, because, count) =>
      logger.log("warn", "board_update_refused", { target, because, count }),
  });
  return {
    ...retention,
    feed: {
      targets: scoreTargets.bind(null, directory),
      deliver: delivery.deliver.bind(delivery),
    },
    async rebuild({ season, ...path }, source) {
      const board = await resolveBoard(directory, path, { now: clock(), season });
      await retention.track(board);
      return await rebuildBoard(store, board, source);
    },
    async repairRanks({ season, ...path }) {
      const { location } = await resolveBoard(directory, path, { now: clock(), season });
      if (location.rankStyle === "dense") await repairDistinctScores(store, location.shards[0]);
    },
    removeUser: createEntryRemoval({ store, directory, clock }),
    live: new LiveBoards({
      clock,
      ...(timer === undefined ? {} : { timer }),
      onFailed: error => logger.log("warn", "live_board_failed", { error: String(error) }),
    }),
    idle: () => delivery.idle(),
  };
}
