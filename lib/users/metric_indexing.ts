/**
 * Writes the values of indexed metrics to the index of users, when the same changes go to boards.
 *
 * A value is written "as of" a revision of the user's state, so that late or repeated delivery changes nothing. A value that
 * fails stays in the user's own record, from which it is delivered when that user is next loaded.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import { Batcher } from "../background/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { chain } from "../http/mod.ts";
import type { ScoreFeed, ScoreTarget, ScoreUpdate } from "../leaderboards/mod.ts";
import type { Store, Write } from "../storage/mod.ts";
import { metricIndexesOf } from "./metric_indexes.ts";
import { userBoards, userIndexPartition } from "./user_shards.ts";

const batchMax = 500;
const attemptsMax = 3;

/** A score feed that also writes the index of users. */
export interface IndexedScoreFeed extends ScoreFeed {
  /** Resolves when no value waits for the index any more. */
  idle(): Promise<void>;
}

/** What indexing metrics needs. */
export interface IndexMetricsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Pick<Directory, "organisation">;
  /** Receives everything that is not for the index. */
  readonly boards: ScoreFeed;
  /** Called with the error of values that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most values that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

const prefix = "users/";

/** Creates a score feed that writes indexed metrics to the index, and everything else to the boards. */
export function indexMetrics(options: IndexMetricsOptions): IndexedScoreFeed {
  const { directory, clock, boards, waitingMax = 100_000 } = options;
  const running = new Set<Promise<void>>();
  let waiting = 0;
  const batches = new Batcher<Write, boolean>({
    batchMax,
    async run(partition, writes) {
      const isWritten = await commit(options, partition, writes);
      waiting -= writes.length;
      return writes.map(() => isWritten);
    },
  });

  /** Resolves with whether all of the values were written. */
  async function index(userId: string, updates: readonly ScoreUpdate[]): Promise<boolean> {
    if (waiting + updates.length > waitingMax) return false;
    waiting += updates.length;
    const written = updates.map(({ target, score, asOf }) => {
      const { organisationId, metricId } = parseTarget(target);
      const key = userBoards.metric(metricId);
      const partition = userIndexPartition(organisationId, userId);
      const common = { type: "score", op: "set", key, member: userId } as const;
      return batches.add(partition, { ...common, score, tie: clock(), asOf });
    });
    return (await Promise.all(written)).every(isWritten => isWritten);
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
    deliver(userId, updates, delivered, givenUp = () => {}) {
      if (!updates.some(isIndexed)) return boards.deliver(userId, updates, delivered, givenUp);
      const others = updates.filter(update => !isIndexed(update));
      const deliverOthers = new Promise<boolean>(resolve => {
        if (others.length === 0) resolve(true);
        else
          boards.deliver(
            userId,
            others,
            () => resolve(true),
            () => resolve(false),
          );
      });
      const indexed = index(userId, updates.filter(isIndexed));
      const done = Promise.all([indexed, deliverOthers]).then(results => {
        running.delete(done);
        if (results.every(isDelivered => isDelivered)) delivered();
        else givenUp();
      });
      running.add(done);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

async function commit(
  { store, onGivenUp }: IndexMetricsOptions,
  partition: string,
  writes: readonly Write[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await store.commit(partition, { writes })).ok;
    } catch (error) {
      if (attempt < attemptsMax) continue;
      onGivenUp(error);
      return false;
    }
  }
}

function targetOf(organisationId: string, metricId: string): ScoreTarget {
  return { id: `${prefix}${organisationId}/${metricId}`, kind: "total", metricId };
}

function isIndexed({ target }: ScoreUpdate): boolean {
  return target.startsWith(prefix);
}

/** Ids of organisations have no slash. */
function parseTarget(target: string): { readonly organisationId: string; readonly metricId: string } {
  const slash = target.indexOf("/", prefix.length);
  return { organisationId: target.slice(prefix.length, slash), metricId: target.slice(slash + 1) };
}
