import { AppError } from "../../lib/base/errors/mod.ts";
import { answerMsMax, pendingCallsMax, redisRetryMs } from "./bounds.ts";
import type { CallOptions } from "./connection.ts";

/** Calls in flight per lane: with two, client and server work at the same time instead of alternating. */
const callsMax = 2;

/** Conversion of items into calls. */
export interface GathererOptions<L, I, A> {
  /** Makes one call for items of a lane, and answers each, in order; `deadline` is that of {@linkcode CallOptions}. */
  call(lane: L, items: readonly I[], options: CallOptions): Promise<readonly (A | Promise<A>)[]>;
  /** Returns the size that an item adds to a call. */
  sizeOf(item: I): number;
  /** Greatest size of a call of more than one item. */
  readonly sizeMax: number;
}

interface Waiting<I, A> {
  readonly item: I;
  deadline: number;
  resolve(answer: A | Promise<A>): void;
  reject(error: unknown): void;
}

interface Lane<L, I, A> {
  readonly name: string;
  readonly value: L;
  waiting: Waiting<I, A>[];
  calls: number;
  isScheduled: boolean;
}

/**
 * Joins requests made at about the same time into few calls.
 *
 * A call costs client and server more than most of its items. So the requests of one turn of the event loop, and those
 * that arrive while calls of the same lane are in flight, share a call. An idle lane sends at once, and a busy one costs
 * little more than its items.
 */
export class Gatherer<L, I, A> {
  readonly #options: GathererOptions<L, I, A>;
  readonly #lanes = new Map<string, Lane<L, I, A>>();
  #waiting = 0;

  constructor(options: GathererOptions<L, I, A>) {
    this.#options = options;
  }

  /**
   * Answers an item of the lane that has this name.
   *
   * @throws {AppError} `storage_unavailable` also where a call before it failed; then the item was not sent.
   */
  ask(name: string, value: L, item: I): Promise<A> {
    if (this.#waiting >= pendingCallsMax) {
      return Promise.reject(unavailable(`${pendingCallsMax} calls already wait for it`));
    }
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, value, waiting: [], calls: 0, isScheduled: false };
      this.#lanes.set(name, lane);
    }
    const { waiting } = lane;
    this.#waiting += 1;
    this.#schedule(lane);
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + answerMsMax;
      waiting.push({ item, deadline, resolve, reject });
    });
  }

  #schedule(lane: Lane<L, I, A>): void {
    if (lane.isScheduled || lane.calls >= callsMax) return;
    lane.isScheduled = true;
    // After whatever else this turn of the event loop still asks.
    process.nextTick(() => this.#send(lane));
  }

  #send(lane: Lane<L, I, A>): void {
    lane.isScheduled = false;
    while (lane.calls < callsMax && lane.waiting.length > 0) {
      lane.calls += 1;
      void this.#call(lane, this.#next(lane));
    }
    if (lane.calls === 0) this.#lanes.delete(lane.name);
  }

  #next(lane: Lane<L, I, A>): readonly Waiting<I, A>[] {
    const { sizeOf, sizeMax } = this.#options;
    let count = 0;
    let size = 0;
    for (const { item } of lane.waiting) {
      size += sizeOf(item);
      if (count > 0 && size > sizeMax) break;
      count += 1;
    }
    this.#waiting -= count;
    return lane.waiting.splice(0, count);
  }

  async #call(lane: Lane<L, I, A>, group: readonly Waiting<I, A>[]): Promise<void> {
    try {
      const items = group.map(({ item }) => item);
      const deadline = group[0]?.deadline ?? 0;
      const answers = await this.#options.call(lane.value, items, { deadline });
      let index = 0;
      for (const { resolve } of group) resolve(answers[index++] as A | Promise<A>);
      // Only a process that was too busy to read it has an answer this late: the time of those who wait begins anew.
      const now = performance.now();
      if (now >= deadline) for (const waiting of lane.waiting) waiting.deadline = now + answerMsMax;
    } catch (error) {
      for (const { reject } of group) reject(error);
      this.#giveUp(lane, error);
    } finally {
      lane.calls -= 1;
      if (lane.waiting.length > 0) this.#schedule(lane);
      else if (lane.calls === 0 && !lane.isScheduled) this.#lanes.delete(lane.name);
    }
  }

  /** Those who came later would only wait as long again for the same end. */
  #giveUp(lane: Lane<L, I, A>, cause: unknown): void {
    const left = lane.waiting.splice(0);
    this.#waiting -= left.length;
    for (const { reject } of left) reject(unavailable("a call before this one failed", cause));
  }
}

function unavailable(state: string, cause?: unknown): AppError {
  return new AppError("storage_unavailable", `Cannot use Redis: ${state}`, {
    cause,
    retryAfterMs: redisRetryMs,
  });
}
