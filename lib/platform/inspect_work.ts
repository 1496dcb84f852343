/**
 * What waits to be done in a store, for operators.
 *
 * @module
 */

import { type Clock, systemRandom } from "../auth/mod.ts";
import { createActionService } from "../fans/audience/mod.ts";
import { oldestOrganisations } from "../fans/directory/mod.ts";
import { oldestDueUser } from "../fans/loyalty/mod.ts";
import { silentLogger, systemTimer } from "../http/mod.ts";
import { mapConcurrent } from "../storage/background/mod.ts";
import type { Queue, Store } from "../storage/mod.ts";

export interface WaitingWork {
  /** True where some process applies queued actions. */
  readonly hasWorker: boolean;
  /** Accepted actions that are not applied. */
  readonly depth: number;
  /** Time for which the oldest of them waits, in ms. */
  readonly waitedMs: number;
  /** Dead letters of the 500 oldest organisations. */
  readonly deadLetters: number;
  /** Time for which the work of a user of these organisations is overdue, in ms. */
  readonly overdueMs: number;
}

/** Organisations that are read at a time. */
const organisationsAtOnce = 4;

/** Reads what waits. It changes nothing. @throws {AppError} The store does not answer. */
export async function inspectWork({
  store,
  queue,
  clock,
}: {
  readonly store: Store;
  readonly queue: Queue;
  /** Unix ms. */
  readonly clock: Clock;
}): Promise<WaitingWork> {
  const loyalty = { reportAll: () => Promise.reject(new Error("Nothing is applied here")) };
  const actions = createActionService({
    ...{ store, queue, clock, loyalty },
    ...{ random: systemRandom, timer: systemTimer, logger: silentLogger },
  });
  const [hasWorker, backlog] = await Promise.all([actions.hasWorker(), actions.backlog()]);
  const dead = await actions.deadLetters.count();
  const organisations = await oldestOrganisations(store);
  const dues = await mapConcurrent(organisations, organisationsAtOnce, id => oldestDueUser(store, id));
  const since = (at: number): number => Math.max(0, clock() - at);
  return {
    hasWorker,
    depth: backlog.depth,
    waitedMs: backlog.oldestAt === null ? 0 : since(backlog.oldestAt),
    deadLetters: dead.reduce((sum, { count }) => sum + count, 0),
    overdueMs: Math.max(0, ...dues.map(dueAt => (dueAt === null ? 0 : since(dueAt)))),
  };
}
