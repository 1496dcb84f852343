/**
 * Everything about actions that outlives a request: taking them in, working them off, and what could not take effect.
 *
 * @module
 */

import { uuid } from "../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { Queue, Store } from "../../storage/mod.ts";
import type { Timer } from "../worker/alarm.ts";
import {
  type ActionSink,
  type ActionWorker,
  createDeadLetters,
  type DeadLetters,
  startActionWorker,
} from "../worker/mod.ts";
import { actionShards } from "../worker/queued_action.ts";
import { type ActionIntake, createActionIntake, createDirectIntake } from "./intake.ts";

/** What the service needs. */
export interface ActionServiceOptions {
  readonly store: Store;
  /** Where accepted actions wait. Omitted: they take effect before their request is answered. */
  readonly queue?: Queue | undefined;
  readonly sink: ActionSink;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly timer: Timer;
  readonly logger: Logger;
  /** The same for all processes. @default actionShards */
  readonly shards?: number;
}

/** Actions of all organisations. */
export interface ActionService {
  readonly intake: ActionIntake;
  readonly deadLetters: DeadLetters;
  /**
   * Starts to work off the queue in this process; whoever starts a worker stops it.
   *
   * @throws {TypeError} There is no queue.
   */
  startWorker(options?: StartOptions): ActionWorker;
}

/** How a worker is started. */
export interface StartOptions {
  /** How long it counts as alive after it last said so, in ms. @default workerLeaseMs */
  readonly leaseMs?: number;
}

/** Creates the service. */
export function createActionService(options: ActionServiceOptions): ActionService {
  const { queue, sink, random, shards = actionShards } = options;
  const workers = new Set<ActionWorker>();
  function onPushed(shard: number): void {
    for (const worker of workers) worker.wake(shard);
  }
  return {
    intake: queue === undefined ? createDirectIntake(sink) : createActionIntake({ queue, shards, onPushed }),
    deadLetters: createDeadLetters(options),
    startWorker(start = {}) {
      if (queue === undefined) throw new TypeError("Cannot start a worker: the platform has no queue");
      const worker = startActionWorker({ ...options, ...start, queue, shards, name: uuid(random) });
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
