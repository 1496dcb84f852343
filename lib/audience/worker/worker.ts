/**
 * A worker of the action queue: says that it is alive, works on the shards that it holds, and shares them with other workers.
 *
 * One worker at a time works on a shard, which is what keeps the actions of a user in order. A worker whose lease could not be
 * renewed begins nothing during the last part of it, so that what it began before is over when others take its shards. A
 * process that is frozen between that look at the clock and its commit can still be late: the order of that one user's actions
 * is then at risk, and no action has a second effect even so.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { Queue, Store } from "../../storage/mod.ts";
import { Alarm, type Timer } from "./alarm.ts";
import { createDeadLetters } from "./dead_letters.ts";
import { type ActionSink, createActionHandler } from "./handler.ts";
import { Hold } from "./hold.ts";
import { actionShards, topicOf } from "./queued_action.ts";
import { type Assignments, createAssignments } from "./shard_assignment.ts";
import { ShardConsumer } from "./shard_consumer.ts";

/** How long a worker counts as alive after it last said so, in ms: after that, others take its shards. */
export const workerLeaseMs = 10_000;
/** Longest time that a stopping worker gives the actions in hand, in ms; what is left then is handed out to others. */
export const workerStopMsMax = 10_000;
/** How often a worker says that it is alive, per lease. */
const renewalsPerLease = 4;
/** The last part of a lease, in which nothing is begun. */
const marginShare = 1 / 5;

/** What a worker is made of. */
export interface ActionWorkerOptions {
  readonly queue: Queue;
  readonly store: Store;
  readonly sink: ActionSink;
  /** Names this worker among all; never used again by another. */
  readonly name: string;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly logger: Logger;
  /** The same for all processes. @default actionShards */
  readonly shards?: number;
  /** How long it counts as alive after it last said so, in ms. @default workerLeaseMs */
  readonly leaseMs?: number;
}

/** A worker at work. */
export interface ActionWorker {
  /** The shards that it works on now. */
  readonly shards: readonly number[];
  /** Tells it that something was pushed to a shard, which it otherwise notices within `idlePauseMsMax`. */
  wake(shard: number): void;
  /** Takes nothing more, finishes what is in hand, and lets others have the shards. */
  stop(): Promise<void>;
}

/** Starts a worker. */
export function startActionWorker(options: ActionWorkerOptions): ActionWorker {
  return new Worker(options);
}

class Worker implements ActionWorker {
  readonly #options: ActionWorkerOptions;
  readonly #leaseMs: number;
  readonly #shardCount: number;
  readonly #assignments: Assignments;
  readonly #hold: Hold;
  readonly #handle: ReturnType<typeof createActionHandler>;
  readonly #consumers = new Map<number, ShardConsumer>();
  /** Consumers whose shards are lost, until they have noticed. */
  readonly #leaving = new Map<number, Promise<void>>();
  /** Shards that are done with, for others to take. */
  readonly #given = new Set<number>();
  readonly #alarm: Alarm;
  readonly #renewing: Promise<void>;
  #isStopping = false;
  #hasStopped = false;

  constructor(options: ActionWorkerOptions) {
    const { store, clock, timer, shards = actionShards, leaseMs = workerLeaseMs } = options;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#shardCount = shards;
    this.#assignments = createAssignments(store, shards);
    this.#hold = new Hold({ clock, timer, marginMs: leaseMs * marginShare });
    this.#handle = createActionHandler({ ...options, deadLetters: createDeadLetters(options) });
    this.#alarm = new Alarm(timer);
    this.#renewing = this.#renewAgainAndAgain();
  }

  get shards(): readonly number[] {
    return [...this.#consumers.keys()].sort((a, b) => a - b);
  }

  wake(shard: number): void {
    this.#consumers.get(shard)?.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const consumer of this.#consumers.values()) consumer.finish();
    const finished = Promise.all([...this.#consumers.values()].map(({ done }) => done));
    const limit = new Alarm(this.#options.timer);
    finished.then(() => limit.ring());
    await limit.wait(workerStopMsMax);
    for (const consumer of this.#consumers.values()) consumer.abandon();
    this.#hasStopped = true;
    this.#alarm.ring();
    await Promise.all([finished, this.#renewing, ...this.#leaving.values()]);
    this.#consumers.clear();
    await this.#assignments.leave(this.#options.name).catch(error => this.#complain(error));
  }

  async #renewAgainAndAgain(): Promise<void> {
    while (!this.#hasStopped) {
      await this.#renew().catch(error => this.#complain(error));
      await this.#alarm.wait(this.#leaseMs / renewalsPerLease);
    }
  }

  async #renew(): Promise<void> {
    const { clock, name } = this.#options;
    const now = clock();
    const until = now + this.#leaseMs;
    const given = [...this.#given];
    const { shards, surplus } = await this.#assignments.claim({ worker: name, now, until, given });
    for (const shard of given) this.#given.delete(shard);
    // Others may have had any of the shards while nobody knew that this worker is alive.
    if (this.#hold.hasLapsed) for (const consumer of this.#consumers.values()) consumer.reclaim();
    this.#hold.extend(until);
    const held = new Set(shards);
    for (const [shard, consumer] of this.#consumers) {
      if (!held.has(shard)) this.#lose(shard, consumer);
    }
    if (this.#isStopping) return;
    for (const shard of shards) {
      if (!this.#consumers.has(shard) && !this.#leaving.has(shard)) this.#begin(shard);
    }
    this.#giveUp(surplus);
  }

  #begin(shard: number): void {
    const { queue, name, timer, logger } = this.#options;
    const consumer = new ShardConsumer({
      queue,
      topic: topicOf(shard, this.#shardCount),
      worker: name,
      handle: this.#handle,
      permit: isLost => this.#hold.permit(isLost),
      timer,
      logger,
    });
    this.#consumers.set(shard, consumer);
  }

  #lose(shard: number, consumer: ShardConsumer): void {
    consumer.abandon();
    this.#consumers.delete(shard);
    const left = consumer.done.then(() => {
      this.#leaving.delete(shard);
      this.#alarm.ring();
    });
    this.#leaving.set(shard, left);
  }

  /** Finishes with shards that others should have, and tells so as soon as they are done. */
  #giveUp(surplus: number): void {
    const finishing = [...this.#consumers.values()].filter(({ isFinishing }) => isFinishing).length;
    const going = [...this.#consumers].filter(([, { isFinishing }]) => !isFinishing);
    for (const [shard, consumer] of going.slice(0, Math.max(0, surplus - finishing))) {
      consumer.finish();
      consumer.done.then(() => {
        if (this.#consumers.get(shard) !== consumer) return;
        this.#consumers.delete(shard);
        this.#given.add(shard);
        this.#alarm.ring();
      });
    }
  }

  #complain(error: unknown): void {
    this.#options.logger.log("warn", "action_worker_not_renewed", { error: String(error) });
  }
}
