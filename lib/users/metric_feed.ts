/**
 * Brings the values of indexed metrics to the index, beside the boards that the same changes feed.
 *
 * A value is written "as of" a revision of the user's state, so that bringing it late or twice changes nothing. What cannot
 * be brought stays in the user's own record and is brought when that is next touched.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { chain } from "../http/mod.ts";
import type { ScoreFeed, ScoreTarget, ScoreUpdate } from "../leaderboards/scores/score_feed.ts";
import { Batches, type Partition, type Store, type Write, whenAll } from "../storage/mod.ts";
import { metricIndexesOf } from "./declared.ts";
import { userBoards, userPartition } from "./places.ts";

/** Most values that one commit carries. */
export const metricBatchMax = 500;
/** Attempts to write a batch before it is given up. */
export const metricAttemptsMax = 3;
/** Most values that wait in a process; beyond it new ones are left to the user's record. */
export const metricsWaitingMax = 100_000;

/** A feed of boards and of the index. */
export interface IndexedScoreFeed extends ScoreFeed {
  /** Resolves when nothing waits for the index any more. */
  idle(): Promise<void>;
}

/** What feeding the index needs. */
export interface IndexMetricsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Pick<Directory, "organisation">;
  /** The feed of boards. */
  readonly boards: ScoreFeed;
  /** Told of what was given up. */
  readonly onGivenUp: (error: unknown) => void;
}

interface Waiting {
  readonly write: Write;
  readonly done: (isDelivered: boolean) => void;
}

const prefix = "users/";

/** Creates a feed that brings indexed metrics to the index, and everything else to the boards. */
export function indexMetrics(options: IndexMetricsOptions): IndexedScoreFeed {
  const { directory, clock, boards } = options;
  let waiting = 0;
  const batches = new Batches<Waiting>({
    countOf: () => metricBatchMax,
    carryOut: async (partition, batch) => {
      const isDelivered = await commit(options, partition, batch);
      waiting -= batch.length;
      for (const { done } of batch) done(isDelivered);
    },
  });

  function index(
    userId: string,
    updates: readonly ScoreUpdate[],
    done: (isDelivered: boolean) => void,
  ): void {
    if (waiting + updates.length > metricsWaitingMax) {
      done(false);
      return;
    }
    waiting += updates.length;
    const each = whenAll(updates.length, done);
    for (const { target, score, asOf } of updates) {
      const { organisationId, metricId } = metricOf(target);
      const key = userBoards.metric(metricId);
      const write: Write = { type: "score", op: "set", key, member: userId, score, tie: clock(), asOf };
      batches.add(userPartition(organisationId, userId), { write, done: each });
    }
  }

  return {
    targets(projectId, query) {
      return chain(metricIndexesOf(directory, query.organisationId), metricIds => {
        const found = boards.targets(projectId, query);
        if (metricIds.length === 0) return found;
        const own = metricIds.map(metricId => targetOf(query.organisationId, metricId));
        return chain(found, targets => [...targets, ...own]);
      });
    },
    deliver(userId, updates, delivered, givenUp) {
      if (!updates.some(isIndexed)) return boards.deliver(userId, updates, delivered, givenUp);
      const both = whenAll(2, isDelivered => (isDelivered ? delivered() : givenUp?.()));
      index(userId, updates.filter(isIndexed), both);
      const others = updates.filter(update => !isIndexed(update));
      if (others.length === 0) return both(true);
      boards.deliver(
        userId,
        others,
        () => both(true),
        () => both(false),
      );
    },
    idle: () => batches.idle(),
  };
}

function targetOf(organisationId: string, metricId: string): ScoreTarget {
  return { id: `${prefix}${organisationId}/${metricId}`, kind: "total", metricId };
}

function isIndexed({ target }: ScoreUpdate): boolean {
  return target.startsWith(prefix);
}

/** Ids of organisations have no slash. */
function metricOf(target: string): { readonly organisationId: string; readonly metricId: string } {
  const slash = target.indexOf("/", prefix.length);
  return { organisationId: target.slice(prefix.length, slash), metricId: target.slice(slash + 1) };
}

async function commit(
  { store, onGivenUp }: IndexMetricsOptions,
  partition: Partition,
  batch: readonly Waiting[],
): Promise<boolean> {
  const writes = batch.map(({ write }) => write);
  for (let attempt = 1; ; attempt++) {
    try {
      const { ok } = await store.commit(partition, { writes });
      return ok;
    } catch (error) {
      if (attempt < metricAttemptsMax) continue;
      onGivenUp(error);
      return false;
    }
  }
}
