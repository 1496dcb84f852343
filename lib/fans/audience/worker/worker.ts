/**
 * A worker of the action queue: renews its lease, consumes the shards that it holds, and shares them with other workers.
 *
 * One worker at a time consumes a shard, which keeps the actions of a user in order. A worker that could not renew its lease
 * begins nothing during the last part of it, so that its work is over when others take its shards. A process that is frozen
 * between checking the clock and its commit can still be late: that puts the order of one user's actions at risk, never their
 * number.
 */

import type { Clock } from "../../../auth/mod.ts";
import type { Timer } from "../../../http/mod.ts";
import { sleep } from "../../../storage/background/mod.ts";
import type { Queue, Store } from "../../../storage/mod.ts";
import {
  type ActionProcessor,
  type ActionProcessorOptions,
  createActionProcessor,
} from "./process_actions.ts";
import { topicOf } from "./queued_action.ts";
import { ShardAssignments } from "./shard_assignment.ts";
import { Alarm, ShardConsumer } from "./shard_consumer.ts";

const leaseMsDefault = 10_000;
/** Longest time that a stopping worker waits for actions in progress, in ms; others are redelivered what is left. */
const stopMsMax = 10_000;
const renewalsPerLease = 4;
/** The last part of a lease, in which no work begins. */
const marginShare = 1 / 5;

interface ActionWorkerOptions extends ActionProcessorOptions {
  readonly queue: Queue;
  readonly store: Store;
  /** The same for all processes. */
  readonly shards: number;
  /** For how long the worker counts as alive after a heartbeat, in ms. @default 10 s */
  readonly leaseMs?: number;
}

/** A running worker. */
export interface ActionWorker {
  /** The shards that it consumes now. */
  readonly shards: readonly number[];
  /** Polls a shard now; otherwise an idle one is polled every 250 ms. */
  wake(shard: number): void;
  /** Takes nothing more, finishes the actions in progress, and releases its shards. */
  stop(): Promise<void>;
}

export function startActionWorker(options: ActionWorkerOptions): ActionWorker {
  return new Worker(options);
}

class Worker implements ActionWorker {
  readonly #options: ActionWorkerOptions;
  readonly #leaseMs: number;
  readonly #assignments: ShardAssignments;
  readonly #lease: ShardLease;
  readonly #process: ActionProcessor;
  readonly #consumers = new Map<number, ShardConsumer>();
  /** Consumers of lost shards, until they have ended. */
  readonly #ending = new Map<number, Promise<void>>();
  readonly #released = new Set<number>();
  readonly #alarm: Alarm;
  readonly #heartbeat: Promise<void>;
  #isStopping = false;
  #hasStopped = false;

  constructor(options: ActionWorkerOptions) {
    const { store, clock, timer, shards, leaseMs = leaseMsDefault } = options;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#assignments = new ShardAssignments(store, shards);
    this.#lease = new ShardLease(clock, timer, leaseMs * marginShare);
    this.#process = createActionProcessor(options);
    this.#alarm = new Alarm(timer);
    this.#heartbeat = this.#runHeartbeat();
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
    await limit.wait(stopMsMax);
    for (const consumer of this.#consumers.values()) consumer.abandon();
    this.#hasStopped = true;
    this.#alarm.ring();
    await Promise.all([finished, this.#heartbeat, ...this.#ending.values()]);
    this.#consumers.clear();
    await this.#assignments.leave(this.#options.name).catch(error => this.#logFailure(error));
  }

  async #runHeartbeat(): Promise<void> {
    while (!this.#hasStopped) {
      await this.#renew().catch(error => this.#logFailure(error));
      await this.#alarm.wait(this.#leaseMs / renewalsPerLease);
    }
  }

  async #renew(): Promise<void> {
    const { clock, name } = this.#options;
    const now = clock();
    const until = now + this.#leaseMs;
    const released = [...this.#released];
    const isStalled =
      this.#consumers.size > 0 && [...this.#consumers.values()].every(consumer => consumer.isStalled);
    const claim = { worker: name, now, until, released, isStalled };
    const { shards, surplus } = await this.#assignments.claim(claim);
    for (const shard of released) this.#released.delete(shard);
    // While the lease was expired other workers may have had any of the shards.
    if (this.#lease.hasExpired) for (const consumer of this.#consumers.values()) consumer.reclaim();
    this.#lease.renew(until);
    for (const [shard, consumer] of this.#consumers) {
      if (!shards.includes(shard)) this.#lose(shard, consumer);
    }
    if (this.#isStopping) return;
    for (const shard of shards) {
      if (!this.#consumers.has(shard) && !this.#ending.has(shard)) this.#consume(shard);
    }
    this.#giveUp(surplus);
  }

  #consume(shard: number): void {
    const { queue, name, timer, logger, shards } = this.#options;
    const consumer = new ShardConsumer({
      queue,
      topic: topicOf(shard, shards),
      worker: name,
      process: this.#process,
      canProceed: isLost => this.#lease.canProceed(isLost),
      timer,
      logger,
    });
    this.#consumers.set(shard, consumer);
  }

  #lose(shard: number, consumer: ShardConsumer): void {
    consumer.abandon();
    this.#consumers.delete(shard);
    const ended = consumer.done.then(() => {
      this.#ending.delete(shard);
      this.#alarm.ring();
    });
    this.#ending.set(shard, ended);
  }

  /** Finishes surplus shards and releases each as soon as it is done. */
  #giveUp(surplus: number): void {
    const finishing = [...this.#consumers.values()].filter(({ isFinishing }) => isFinishing).length;
    const active = [...this.#consumers].filter(([, { isFinishing }]) => !isFinishing);
    for (const [shard, consumer] of active.slice(0, Math.max(0, surplus - finishing))) {
      consumer.finish();
      consumer.done.then(() => {
        if (this.#consumers.get(shard) !== consumer) return;
        this.#consumers.delete(shard);
        this.#released.add(shard);
        this.#alarm.ring();
      });
    }
  }

  #logFailure(error: unknown): void {
    this.#options.logger.log("warn", "action_worker_not_renewed", { error: String(error) });
  }
}

/** Pause between two looks at a lease that is about to expire, in ms. */
const retryMs = 50;

/**
 * The time for which a worker holds its shards. It is no `Lease` of lib/storage/background: one heartbeat covers all shards of a
 * worker, and the record that it renews assigns the shards of all workers at once.
 */
class ShardLease {
  readonly #clock: Clock;
  readonly #timer: Timer;
  readonly #marginMs: number;
  #until = 0;

  /** @param marginMs No work begins during this last part of the lease: longer than work that has begun may take. */
  constructor(clock: Clock, timer: Timer, marginMs: number) {
    this.#clock = clock;
    this.#timer = timer;
    this.#marginMs = marginMs;
  }

  /** True if other workers may have taken the shards. */
  get hasExpired(): boolean {
    return this.#clock() >= this.#until;
  }

  /** Renews the lease until a time, Unix ms. */
  renew(until: number): void {
    this.#until = until;
  }

  /** Resolves with true once work may begin, with false once `isLost` returns true. */
  async canProceed(isLost: () => boolean): Promise<boolean> {
    while (!isLost() && this.#clock() >= this.#until - this.#marginMs) await sleep(this.#timer, retryMs);
    return !isLost();
  }
}
