/**
 * The leaderboards of all projects, as the rest of the platform sees them.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { Logger } from "../http/mod.ts";
import type { ScoreFeed } from "../ports/score_feed.ts";
import type { Store } from "../storage/mod.ts";
import { fedPlaces } from "./fed_places.ts";
import { createFeeder } from "./feeder.ts";
import { createRetention, type Retention } from "./retention.ts";
import { scoreTargets } from "./score_targets.ts";

/** Feeds boards and tidies them up. */
export interface Leaderboards extends Retention {
  /** Brings what users earn to the boards. */
  readonly feed: ScoreFeed;
  /** Resolves when no score waits for its board any more. */
  idle(): Promise<void>;
}

/** What leaderboards need. */
export interface LeaderboardsOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the leaderboards of all projects. */
export function createLeaderboards(options: LeaderboardsOptions): Leaderboards {
  const { store, directory, clock, logger } = options;
  const retention = createRetention({ store, directory, clock });
  const feeder = createFeeder({
    store,
    findPlace: fedPlaces({ directory, clock, retention }),
    onGivenUp: error => logger.log("warn", "board_update_deferred", { error: String(error) }),
    onRefused: (target, because, count) =>
      logger.log("warn", "board_update_refused", { target, because, count }),
  });
  return {
    ...retention,
    feed: {
      targets: (projectId, query) => scoreTargets(directory, projectId, query),
      deliver: feeder.deliver,
    },
    idle: feeder.idle,
  };
}
