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

/** Rejects promises that do not settle in time. All have the same timeout, so one timer watches the oldest for all. */
export class Deadlines {
  readonly #ms: number;
  readonly #clock: () => number;
  readonly #timer: Timer;
  /** By deadline; settled ones are removed at the next check. */
  #waiting: Waiting[] = [];
  #isWatched = false;

  /** `ms` is the timeout; `clock` has milliseconds from any origin. */
  constructor(ms: number, clock: () => number, timer: Timer) {
    this.#ms = ms;
    this.#clock = clock;
    this.#timer = timer;
  }

  /**
   * Returns the promise, rejected once it is late.
   *
   * @throws {Error} The promise was late.
   */
  within<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry: Waiting = { lateAt: this.#clock() + this.#ms, reject, isSettled: false };
      this.#waiting.push(entry);
      if (!this.#isWatched) this.#watch(this.#ms);
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
    this.#timer(() => this.#check(), delayMs);
  }

  #check(): void {
    const now = this.#clock();
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    const isLate = this.#waiting.some(({ lateAt }) => lateAt <= now);
    if (isLate) this.#timer(() => this.#end(now), lateGraceMs);
    else this.#watchOldest(now);
  }

  /** Rejects promises that were late at the last check and are still pending. */
  #end(checkedAt: number): void {
    const error = new Error(`no answer within ${this.#ms} ms`);
    for (const { isSettled, lateAt, reject } of this.#waiting) {
      if (!isSettled && lateAt <= checkedAt) reject(error);
    }
    this.#waiting = this.#waiting.filter(({ isSettled, lateAt }) => !isSettled && lateAt > checkedAt);
    this.#watchOldest(this.#clock());
  }

  #watchOldest(now: number): void {
    this.#isWatched = false;
    const [oldest] = this.#waiting;
    if (oldest !== undefined) this.#watch(Math.max(lateGraceMs, oldest.lateAt - now));
  }
}
