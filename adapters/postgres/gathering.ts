import { DatabaseError } from "pg";
import { AppError } from "../../lib/base/errors/mod.ts";
import { answerMsMax, pendingCallsMax, unavailable } from "./options.ts";
import type { Session } from "./session.ts";

/** Shortest time that a call which had to wait is given, in ms. */
const sendMsMin = 500;

interface GatheringOptions<I, A> {
  /** Connections, of which each has one call under way. */
  readonly sessions: readonly Session[];
  /** Makes one call for items by a time of `performance`, and answers each, in order. */
  call(session: Session, items: readonly I[], deadline: number): Promise<readonly A[]>;
  /** Names what an item may have to wait for: a partition or a subject. */
  keyOf(item: I): unknown;
  unitsOf(item: I): number;
  /** Most units of a call of more than one item. */
  readonly unitsMax: number;
}

interface Waiting<I, A> {
  readonly item: I;
  readonly deadline: number;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

/**
 * Joins what is asked for in one turn of the event loop, or while all connections are in use, into one call: a round trip and a
 * transaction cost more than most of what they carry.
 */
export class Gathering<I, A> {
  readonly #options: GatheringOptions<I, A>;
  readonly #free: Session[];
  readonly #waiting: Waiting<I, A>[] = [];
  #isScheduled = false;

  constructor(options: GatheringOptions<I, A>) {
    this.#options = options;
    this.#free = [...options.sessions];
  }

  ask(item: I): Promise<A> {
    if (this.#waiting.length >= pendingCallsMax) {
      return Promise.reject(unavailable(`${pendingCallsMax} calls already wait for it`));
    }
    this.#schedule();
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + answerMsMax;
      this.#waiting.push({ item, deadline, resolve, reject });
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#free.length === 0) return;
    this.#isScheduled = true;
    // After whatever else this turn of the event loop still asks.
    process.nextTick(() => this.#send());
  }

  #send(): void {
    this.#isScheduled = false;
    this.#expire();
    while (this.#waiting.length > 0) {
      const session = this.#free.pop();
      if (session === undefined) return;
      void this.#call(session, this.#next());
    }
  }

  /** What is sent too late to be answered would only leave its outcome unknown. */
  #expire(): void {
    const latest = performance.now() + sendMsMin;
    while ((this.#waiting[0]?.deadline ?? latest) < latest) {
      this.#waiting.shift()?.reject(unavailable("too many calls wait for it"));
    }
  }

  #next(): readonly Waiting<I, A>[] {
    const { unitsOf, unitsMax } = this.#options;
    let count = 0;
    let units = 0;
    for (const { item } of this.#waiting) {
      units += unitsOf(item);
      if (count > 0 && units > unitsMax) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #call(session: Session, group: readonly Waiting<I, A>[]): Promise<void> {
    try {
      await this.#answer(session, group);
    } finally {
      this.#free.push(session);
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  async #answer(session: Session, group: readonly Waiting<I, A>[]): Promise<void> {
    try {
      const answers = await this.#options.call(
        session,
        group.map(({ item }) => item),
        group[0]?.deadline ?? 0,
      );
      for (const [index, { resolve }] of group.entries()) resolve(answers[index] as A);
    } catch (error) {
      if (group.length > 1 && error instanceof AppError && error.code === "internal_error") {
        // One of them is refused and had no effect, and so had none of the others.
        for (const waiting of group) await this.#answer(session, [waiting]);
        return;
      }
      for (const { reject } of group) reject(error);
      this.#giveUp(error, group);
    }
  }

  /** Those who came later would only wait as long again for the same end: all, or where the server has answered those of the same keys. */
  #giveUp(cause: unknown, group: readonly Waiting<I, A>[]): void {
    if (cause instanceof AppError && cause.code === "internal_error") return;
    const { keyOf } = this.#options;
    const hasAnswered = cause instanceof AppError && cause.cause instanceof DatabaseError;
    const keys = new Set(group.map(({ item }) => keyOf(item)));
    const reason = cause instanceof Error ? cause.message : String(cause);
    for (const waiting of this.#waiting.splice(0)) {
      if (hasAnswered && !keys.has(keyOf(waiting.item))) this.#waiting.push(waiting);
      else waiting.reject(unavailable(`a call before this one failed (${reason})`, cause));
    }
  }
}
