/** Reported actions beyond their request: accepting them, applying them in workers, and keeping those that failed. */

import { uuid } from "../../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../../auth/mod.ts";
import type { Logger, Timer } from "../../../http/mod.ts";
import type { Queue, Store } from "../../../storage/mod.ts";
import { DeadLetterQueue } from "../worker/dead_letter_queue.ts";
import type { ActionSink } from "../worker/process_actions.ts";
import { actionShards, topicOf } from "../worker/queued_action.ts";
import { ShardAssignments } from "../worker/shard_assignment.ts";
import { type ActionWorker, startActionWorker } from "../worker/worker.ts";
import { type ActionIntake, createDirectIntake, createQueueIntake } from "./intake.ts";

interface ActionServiceOptions {
  readonly store: Store;
  /** Holds accepted actions. Omitted: actions are applied before their request is answered. */
  readonly queue?: Queue | undefined;
  readonly loyalty: ActionSink;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly timer: Timer;
  readonly logger: Logger;
}

/** The reported actions of all organisations. */
export interface ActionService {
  readonly intake: ActionIntake;
  readonly deadLetters: DeadLetterQueue;
  /**
   * Starts a worker in this process. The caller must stop it.
   *
   * @throws {TypeError} There is no queue.
   */
  startWorker(options?: {
    /** For how long the worker counts as alive after a heartbeat, in ms. @default 10 s */
    readonly leaseMs?: number;
  }): ActionWorker;
  /** Returns false if actions wait in a queue that no worker of any process serves. */
  hasWorker(): Promise<boolean>;
  /** Number of shards of the queue that the workers of this process consume. */
  readonly shardsHere: number;
  /** Returns the number of accepted actions that are not applied, and when the oldest was accepted in Unix ms; null: there is none. */
  backlog(): Promise<{ readonly depth: number; readonly oldestAt: number | null }>;
}

/** Creates the service. */
export function createActionService(options: ActionServiceOptions): ActionService {
  const { store, queue, loyalty: sink, clock, random } = options;
  const deadLetters = new DeadLetterQueue(options);
  const shards = actionShards;
  const workers = new Set<ActionWorker>();
  const assignments = new ShardAssignments(store, shards);
  function onPushed(shard: number): void {
    for (const worker of workers) worker.wake(shard);
  }
  return {
    intake:
      queue === undefined
        ? createDirectIntake(sink)
        : createQueueIntake({ queue, shards, clock, deadLetters, onPushed }),
    deadLetters,
    hasWorker: async () => queue === undefined || (await assignments.hasWorker(clock())),
    get shardsHere() {
      return [...workers].reduce((sum, worker) => sum + worker.shards.length, 0);
    },
    async backlog() {
      if (queue === undefined) return { depth: 0, oldestAt: null };
      const topics = Array.from({ length: shards }, (_, shard) => topicOf(shard, shards));
      const depths = await Promise.all(topics.map(topic => queue.depth(topic)));
      const oldest = await Promise.all(topics.map(topic => queue.oldest(topic)));
      const times = oldest.filter(at => at !== null);
      const depth = depths.reduce((sum, count) => sum + count, 0);
      return { depth, oldestAt: times.length === 0 ? null : Math.min(...times) };
    },
    startWorker(start = {}) {
      if (queue === undefined) throw new TypeError("Cannot start a worker: the platform has no queue");
      const worker = startActionWorker({
        ...options,
        ...start,
        sink,
        deadLetters,
        queue,
        shards,
        name: uuid(random),
      });
      workers.add(worker);
      return {
        get shards() {
          return worker.shards;
        },
        wake: shard => worker.wake(shard),
        async stop() {
          workers.delete(worker);
          await worker.stop();
        },
      };
    },
  };
}
