import type { Timer } from "../requests/body.ts";

/** Grace for a late answer, in ms: it may have arrived already, behind a turn of a busy process. */
const lateGraceMs = 1;

/** One pending promise. */
interface Waiting {
  /** Deadline on the clock. */
  readonly lateAt: number;
  readonly reject: (error: Error) => void;
  isSettled: boolean;
}

/** Options of {@linkcode Deadlines}. */
export interface DeadlinesOptions {
  readonly ms: number;
  /** Milliseconds from any origin. */
  readonly clock: () => number;
  readonly timer: Timer;
}

/** Rejects promises that do not settle in time. All have the same timeout, so one timer watches the oldest for all. */
export class Deadlines {
  readonly #options: DeadlinesOptions;
  /** By deadline; settled ones are removed at the next check. */
  #waiting: Waiting[] = [];
  #isWatched = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /**
   * Returns the promise, rejected once it is late.
   *
   * @throws {Error} The promise was late.
   */
  within<T>(promise: Promise<T>): Promise<T> {
    const { clock, ms } = this.#options;
    return new Promise((resolve, reject) => {
      const entry: Waiting = { lateAt: clock() + ms, reject, isSettled: false };
      this.#waiting.push(entry);
      if (!this.#isWatched) this.#watch(ms);
      promise.then(
        value => {
          entry.isSettled = true;
          resolve(value);
        },
        error => {
          entry.isSettled = true;
          reject(error);
        },
      );
    });
  }

  #watch(delayMs: number): void {
    this.#isWatched = true;
    this.#options.timer(() => this.#check(), delayMs);
  }

  #check(): void {
    const now = this.#options.clock();
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    const isLate = this.#waiting.some(({ lateAt }) => lateAt <= now);
    if (isLate) this.#options.timer(() => this.#end(now), lateGraceMs);
    else this.#watchOldest(now);
  }

  /** Rejects promises that were late at the last check and are still pending. */
  #end(checkedAt: number): void {
    const error = new Error(`no answer within ${this.#options.ms} ms`);
    for (const { isSettled, lateAt, reject } of this.#waiting) {
      if (!isSettled && lateAt <= checkedAt) reject(error);
    }
    this.#waiting = this.#waiting.filter(({ isSettled, lateAt }) => !isSettled && lateAt > checkedAt);
    this.#watchOldest(this.#options.clock());
  }

  #watchOldest(now: number): void {
    this.#isWatched = false;
    const [oldest] = this.#waiting;
    if (oldest !== undefined) this.#watch(Math.max(lateGraceMs, oldest.lateAt - now));
  }
}
