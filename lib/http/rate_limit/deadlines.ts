/** Calls back after a delay in ms, unless the returned function is called before. */
export type Timer = (callback: () => void, delayMs: number) => () => void;

/** How long a late answer is waited for after its time, in ms: it may be here already, behind a turn of a busy process. */
export const lateGraceMs = 1;

/** One promise that is waited for. */
interface Waiting {
  /** When it is late, as the clock counts. */
  readonly lateAt: number;
  readonly reject: (error: Error) => void;
  isSettled: boolean;
}

/** What deadlines are kept with. */
export interface DeadlinesOptions {
  readonly ms: number;
  /** Milliseconds from any origin. */
  readonly clock: () => number;
  readonly timer: Timer;
}

/** Rejects what does not settle in time. All have the same time, so that one timer watches the oldest for all others. */
export class Deadlines {
  readonly #options: DeadlinesOptions;
  /** In the order in which they become late; settled ones are taken out at the next look. */
  #waiting: Waiting[] = [];
  #isWatched = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /**
   * The promise, or a rejection once it is late.
   *
   * @throws {Error} It was late.
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
    this.#options.timer(() => this.#look(), delayMs);
  }

  #look(): void {
    const now = this.#options.clock();
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    const isLate = this.#waiting.some(({ lateAt }) => lateAt <= now);
    if (isLate) this.#options.timer(() => this.#end(now), lateGraceMs);
    else this.#watchOldest(now);
  }

  /** Rejects what was late at a look and still is not here. */
  #end(lookedAt: number): void {
    const error = new Error(`there was no answer within ${this.#options.ms} ms`);
    for (const { isSettled, lateAt, reject } of this.#waiting) {
      if (!isSettled && lateAt <= lookedAt) reject(error);
    }
    this.#waiting = this.#waiting.filter(({ isSettled, lateAt }) => !isSettled && lateAt > lookedAt);
    this.#watchOldest(this.#options.clock());
  }

  #watchOldest(now: number): void {
    this.#isWatched = false;
    const [oldest] = this.#waiting;
    if (oldest !== undefined) this.#watch(Math.max(lateGraceMs, oldest.lateAt - now));
  }
}
