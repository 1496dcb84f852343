/**
 * Figures that are read when metrics are scraped.
 *
 * @module
 */

import type { Metrics } from "../../base/metrics/mod.ts";
import type { ActionService } from "../../fans/audience/mod.ts";
import type { Leaderboards } from "../../fans/leaderboards/mod.ts";
import type { Queue } from "../../storage/mod.ts";

export interface FigureSources {
  /** Unix ms. */
  readonly clock: () => number;
  /** Absent: actions are applied before their answer. */
  readonly queue?: Queue | undefined;
  readonly actions: ActionService;
  readonly leaderboards: Pick<Leaderboards, "live">;
  readonly version: string;
}

/** Reads the figures of a platform before each scrape. */
export function readFigures(metrics: Metrics, sources: FigureSources): void {
  const { clock, queue, actions, leaderboards, version } = sources;
  metrics.gauge("grandstand_build_info", { version }).set(1);
  const listeners = metrics.gauge("grandstand_board_listeners", {});
  const dead = metrics.gauge("grandstand_dead_letters", {});
  metrics.beforeScrape(() => listeners.set(leaderboards.live.size));
  metrics.beforeScrape(async () => {
    const counts = await actions.deadLetters.count();
    dead.set(counts.reduce((sum, { count }) => sum + count, 0));
  });
  if (queue === undefined) return;
  const shards = metrics.gauge("grandstand_worker_shards", {});
  const alive = metrics.gauge("grandstand_worker_alive", {});
  const depth = metrics.gauge("grandstand_queue_depth", {});
  const age = metrics.gauge("grandstand_queue_oldest_age_seconds", {});
  metrics.beforeScrape(() => shards.set(actions.shardsHere));
  metrics.beforeScrape(async () => alive.set((await actions.hasWorker()) ? 1 : 0));
  metrics.beforeScrape(async () => {
    const backlog = await actions.backlog();
    depth.set(backlog.depth);
    age.set(backlog.oldestAt === null ? 0 : Math.max(0, clock() - backlog.oldestAt) / 1_000);
  });
}
