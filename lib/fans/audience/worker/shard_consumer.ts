/**
 * Consumes the queue of one shard: takes messages, processes the actions of different users concurrently and those of one user
 * in order, and acknowledges finished ones in groups.
 *
 * Messages are taken into a window, not in rounds: a user whose actions are retried delays only that user until the window is full.
 */

import type { Logger, Timer } from "../../../http/mod.ts";
import { sleep } from "../../../storage/background/mod.ts";
import { type Queue, type QueueMessage, storageLimits } from "../../../storage/mod.ts";
import { type ActionProcessor, outagePauseMs, type TakenAction } from "./process_actions.ts";
import { decodeAction } from "./queued_action.ts";

/** Most messages of a shard that a worker has taken and not acknowledged. A wider window applies more of one user together. */
const windowDefault = 512;
/** Most actions of a user that are applied together: bounds one commit. */
const userRunMax = 32;
/** Longest pause before an idle shard is polled again, in ms. A push in the same process wakes it at once. */
const idlePauseMsMax = 250;
const idlePauseMsMin = 4;
/** Polls of an idle shard, ten seconds of them, after which the consumer looks for messages that a dead worker holds. */
const pollsPerLook = 40;

interface ShardConsumerOptions {
  readonly queue: Queue;
  readonly topic: string;
  readonly worker: string;
  readonly process: ActionProcessor;
  /** Resolves with true once work may begin, with false once `isLost` returns true. */
  readonly canProceed: (isLost: () => boolean) => Promise<boolean>;
  readonly timer: Timer;
  readonly logger: Logger;
  /** Most messages that are taken and not acknowledged. @default 512 */
  readonly window?: number;
}

export class ShardConsumer {
  /** Resolves when nothing of the shard is in progress any more. */
  readonly done: Promise<void>;
  readonly #options: ShardConsumerOptions;
  readonly #window: number;
  readonly #alarm: Alarm;
  readonly #byUser = new Map<string, TakenAction[]>();
  readonly #running = new Set<Promise<void>>();
  /** Ids of taken messages that are not acknowledged. */
  readonly #taken = new Set<string>();
  #finished: string[] = [];
  #mustRelease = true;
  /** Attempts to take messages that have failed in a row. */
  #failures = 0;
  #isFinishing = false;
  #isLost = false;

  constructor(options: ShardConsumerOptions) {
    this.#options = options;
    this.#window = options.window ?? windowDefault;
    this.#alarm = new Alarm(options.timer);
    this.done = this.#run();
  }

  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  /** True if the queue has refused to hand out messages for ten seconds. */
  get isStalled(): boolean {
    return this.#failures >= pollsPerLook;
  }

  wake(): void {
    this.#alarm.ring();
  }

  /** Takes no more messages and ends after those it has. */
  finish(): void {
    this.#isFinishing = true;
    this.#alarm.ring();
  }

  /** Ends as soon as possible, because the shard belongs to another worker. Unacknowledged messages are redelivered there. */
  abandon(): void {
    this.#isLost = true;
    this.finish();
  }

  /** Redelivers the messages of other workers first, one of which may have had the shard for a while. */
  reclaim(): void {
    this.#mustRelease = true;
  }

  #canProceed(): Promise<boolean> {
    return this.#options.canProceed(() => this.#isLost);
  }

  async #run(): Promise<void> {
    const { timer } = this.#options;
    let idleMs = idlePauseMsMin;
    let polls = 0;
    while (!this.#isFinishing && (await this.#canProceed())) {
      if ((await this.#exchange()) > 0) {
        idleMs = idlePauseMsMin;
        // Queue and store in memory answer without a turn of the event loop, which requests wait for.
        await sleep(timer, 0);
        continue;
      }
      polls += 1;
      if (polls % pollsPerLook === 0) this.#mustRelease ||= await this.#isHeldElsewhere();
      const wasWoken = await this.#alarm.wait(idleMs);
      idleMs = wasWoken ? idlePauseMsMin : Math.min(idleMs * 2, idlePauseMsMax);
    }
    await Promise.all(this.#running);
    while ((await this.#canProceed()) && !(await this.#acknowledge())) await sleep(timer, outagePauseMs);
  }

  /** Acknowledges finished messages and takes as many as fit; returns the number of new ones. */
  async #exchange(): Promise<number> {
    // Messages must not be redelivered here while they are being acknowledged.
    if (this.#mustRelease) await this.#acknowledge();
    const room = this.#window - this.#taken.size + this.#finished.length;
    const [deliveries] = await Promise.all([
      room * 2 < this.#window ? [] : this.#take(room),
      this.#acknowledge(),
    ]);
    return deliveries.filter(delivery => this.#accept(delivery)).length;
  }

  async #take(room: number): Promise<readonly QueueMessage[]> {
    const { queue, topic, worker, logger } = this.#options;
    const lease = { consumer: worker, limit: room, leaseMs: storageLimits.leaseMsMax };
    try {
      if (this.#mustRelease) {
        await queue.release(topic);
        // Messages in the window are redelivered too, before those of other workers.
        lease.limit = Math.min(room + this.#taken.size, storageLimits.queueBatchMax);
      }
      const deliveries = await queue.take(topic, lease);
      this.#mustRelease = false;
      this.#failures = 0;
      return await this.#handOn(deliveries);
    } catch (error) {
      this.#failures += 1;
      // A lost answer may have delivered messages.
      this.#mustRelease = true;
      logger.log("warn", "actions_not_taken", { topic, error: String(error) });
      return [];
    }
  }

  /** Returns true if the queue has messages although this consumer has none: the last call of a worker that died was late. */
  async #isHeldElsewhere(): Promise<boolean> {
    const { queue, topic } = this.#options;
    if (this.#taken.size > 0) return false;
    return await queue.depth(topic).then(
      depth => depth > 0,
      () => false,
    );
  }

  /** Returns the messages that were taken, or gives them to the next worker where the shard was lost while the queue answered. */
  async #handOn(deliveries: readonly QueueMessage[]): Promise<readonly QueueMessage[]> {
    if (!this.#isLost || deliveries.length === 0) return deliveries;
    await this.#options.queue.release(this.#options.topic);
    return [];
  }

  /** Queues a message behind the others of its user; returns false for one that is in the window already. */
  #accept({ id, body, attempts: deliveries }: QueueMessage): boolean {
    if (this.#taken.has(id)) return false;
    this.#taken.add(id);
    const action = decodeAction(body);
    if (action === null) {
      this.#options.logger.log("error", "action_unreadable", { topic: this.#options.topic, message: id });
      this.#finish([{ id }]);
      return true;
    }
    const user = `${action.organisationId} ${action.userId}`;
    const waiting = this.#byUser.get(user);
    if (waiting !== undefined) {
      waiting.push({ id, action, deliveries });
      return true;
    }
    const actions = [{ id, action, deliveries }];
    this.#byUser.set(user, actions);
    const running = this.#process(user, actions).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  /** Processes the actions of a user, also those that arrive meanwhile. */
  async #process(user: string, actions: TakenAction[]): Promise<void> {
    // Further actions of the user may be in the same delivery.
    await null;
    while (actions.length > 0) {
      const run = actions.splice(0, userRunMax);
      const finished = await this.#options.process(run, () => this.#canProceed());
      this.#finish(run.slice(0, finished));
      if (finished < run.length) break;
    }
    this.#byUser.delete(user);
  }

  #finish(actions: readonly { readonly id: string }[]): void {
    for (const { id } of actions) this.#finished.push(id);
    const inProgress = this.#taken.size - this.#finished.length;
    if (inProgress === 0 || this.#finished.length * 2 >= this.#window) this.#alarm.ring();
  }

  /** Acknowledges finished messages; returns false if that failed. */
  async #acknowledge(): Promise<boolean> {
    const { queue, topic, logger } = this.#options;
    const ids = this.#finished;
    if (ids.length === 0) return true;
    this.#finished = [];
    try {
      await queue.ack(topic, ids);
      for (const id of ids) this.#taken.delete(id);
      return true;
    } catch (error) {
      this.#finished.push(...ids);
      logger.log("warn", "actions_not_acknowledged", { topic, error: String(error) });
      return false;
    }
  }
}

/** A wait that another part of the process can end early. */
export class Alarm {
  readonly #timer: Timer;
  #wake: (() => void) | null = null;
  #isRung = false;

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /** Ends the wait, or the next one if there is none. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves with true when it is rung, with false after a time in ms. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#isRung) {
      await new Promise<void>(resolve => {
        const cancel = this.#timer(resolve, ms);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = null;
    }
    const wasRung = this.#isRung;
    this.#isRung = false;
    return wasRung;
  }
}
