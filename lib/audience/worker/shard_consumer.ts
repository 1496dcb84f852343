/**
 * Works off one shard: takes messages, has the actions of different users handled side by side and those of one user one
 * after the other, and settles what has come to its end, many messages at a time.
 *
 * Messages are taken into a window, not in rounds: whoever has to be tried again holds up nobody but the own user, until the
 * window is full of such actions.
 *
 * @module
 */

import type { Logger } from "../../http/mod.ts";
import { type Queue, type QueueMessage, storageLimits } from "../../storage/mod.ts";
import { Alarm, pause, type Timer } from "./alarm.ts";
import { type ActionHandler, outagePauseMs, type Permit, type TakenAction } from "./handler.ts";
import { decodeAction } from "./queued_action.ts";

/** Most messages of a shard that a worker has in hand. */
export const inHandMax = 32;
/** Longest pause before an idle shard is looked at again, in ms. */
export const idlePauseMsMax = 250;
const idlePauseMsMin = 4;

/** What a consumer works with. */
export interface ShardConsumerOptions {
  readonly queue: Queue;
  readonly topic: string;
  /** Names the worker. */
  readonly worker: string;
  readonly handle: ActionHandler;
  readonly permit: (isLost: () => boolean) => boolean | Promise<boolean>;
  readonly timer: Timer;
  readonly logger: Logger;
}

/** One shard at work. */
export class ShardConsumer {
  /** Resolves when nothing of the shard is under way any more. */
  readonly done: Promise<void>;
  readonly #options: ShardConsumerOptions;
  readonly #alarm: Alarm;
  readonly #permit: Permit;
  /** Actions that wait for an earlier one of the same user, by user. */
  readonly #chains = new Map<string, TakenAction[]>();
  readonly #running = new Set<Promise<void>>();
  /** Ids of what was taken and is not yet settled in the queue. */
  readonly #known = new Set<string>();
  #ended: string[] = [];
  #mustRelease = true;
  #isFinishing = false;
  #isLost = false;

  constructor(options: ShardConsumerOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.timer);
    this.#permit = () => options.permit(() => this.#isLost);
    this.done = this.#run();
  }

  /** Whether it takes nothing more. */
  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  /** Looks for messages now. */
  wake(): void {
    this.#alarm.ring();
  }

  /** Takes no more messages, and ends when those in hand have ended. */
  finish(): void {
    this.#isFinishing = true;
    this.#alarm.ring();
  }

  /** Ends as soon as possible: the shard is another worker's. What is not settled is handed out there. */
  abandon(): void {
    this.#isLost = true;
    this.finish();
  }

  /** Has others' messages handed out here first: somebody else may have had the shard for a while. */
  reclaim(): void {
    this.#mustRelease = true;
  }

  async #run(): Promise<void> {
    let idleMs = idlePauseMsMin;
    while (!this.#isFinishing && (await this.#permit())) {
      const taken = await this.#exchange();
      if (taken > 0) {
        idleMs = idlePauseMsMin;
        // A queue and a store in memory answer without a turn of the event loop, and requests wait for one.
        await pause(this.#options.timer, 0);
        continue;
      }
      if (await this.#alarm.wait(idleMs)) idleMs = idlePauseMsMin;
      else idleMs = Math.min(idleMs * 2, idlePauseMsMax);
    }
    await Promise.all(this.#running);
    while ((await this.#permit()) && !(await this.#settle())) await pause(this.#options.timer, outagePauseMs);
  }

  /** Settles what has ended and takes what there is room for; answers how many actions are new. */
  async #exchange(): Promise<number> {
    // What is being settled must not come again as something new.
    if (this.#mustRelease) await this.#settle();
    const room = inHandMax - this.#known.size + this.#ended.length;
    const [taken] = await Promise.all([room * 2 < inHandMax ? [] : this.#take(room), this.#settle()]);
    let count = 0;
    for (const delivery of taken) if (this.#accept(delivery)) count += 1;
    return count;
  }

  async #take(room: number): Promise<readonly QueueMessage[]> {
    const { queue, topic, worker, logger } = this.#options;
    const lease = { consumer: worker, limit: room, leaseMs: storageLimits.leaseMsMax };
    try {
      if (!this.#mustRelease) return await queue.take(topic, lease);
      await queue.release(topic);
      // What is in hand here comes again too, and before what others had.
      const limit = Math.min(room + this.#known.size, storageLimits.queueBatchMax);
      const taken = await queue.take(topic, { ...lease, limit });
      this.#mustRelease = false;
      return taken;
    } catch (error) {
      // Messages may have been handed out in an answer that did not arrive.
      this.#mustRelease = true;
      logger.log("warn", "actions_not_taken", { topic, error: String(error) });
      return [];
    }
  }

  #accept({ id, body, attempts }: QueueMessage): boolean {
    if (this.#known.has(id)) return false;
    this.#known.add(id);
    const action = decodeAction(body);
    if (action === null) {
      this.#options.logger.log("error", "action_unreadable", { topic: this.#options.topic, message: id });
      this.#end(id);
      return true;
    }
    const taken = { id, action, handOuts: attempts };
    const user = `${action.organisationId} ${action.userId}`;
    const chain = this.#chains.get(user);
    if (chain !== undefined) {
      chain.push(taken);
      return true;
    }
    const running = this.#work(user, [taken]).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  /** Handles the actions of a user, also those that arrive meanwhile. */
  async #work(user: string, chain: TakenAction[]): Promise<void> {
    this.#chains.set(user, chain);
    for (let at = 0; at < chain.length; at++) {
      const taken = chain[at];
      if (taken === undefined || !(await this.#options.handle(taken, this.#permit))) break;
      this.#end(taken.id);
    }
    this.#chains.delete(user);
  }

  #end(id: string): void {
    this.#ended.push(id);
    const inHand = this.#known.size - this.#ended.length;
    if (inHand === 0 || this.#ended.length * 2 >= inHandMax) this.#alarm.ring();
  }

  /** Settles what has ended; answers whether that worked. */
  async #settle(): Promise<boolean> {
    const { queue, topic, logger } = this.#options;
    const ids = this.#ended;
    if (ids.length === 0) return true;
    this.#ended = [];
    try {
      await queue.ack(topic, ids);
      for (const id of ids) this.#known.delete(id);
      return true;
    } catch (error) {
      this.#ended.push(...ids);
      logger.log("warn", "actions_not_settled", { topic, error: String(error) });
      return false;
    }
  }
}
