/**
 * Counting with the shared limiter, and without it while it fails or is slow.
 *
 * During an outage each process counts alone with the whole limit, so that an outage neither stops all requests nor lifts
 * all limits. A limit whose resource is scarce waits longer for the shared limiter, and rejects requests only then.
 */

import { AppError } from "../../base/errors/mod.ts";
import type { Timer } from "../../storage/background/mod.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../storage/mod.ts";

/** Longest time that a request waits for the shared limiter, in ms. */
const limiterMsMax = 50;
/** That of a request that is refused without it. */
const patientMsMax = 500;
/** Pause after a failure before one request tries the limiter again, in ms. */
const limiterRetryMs = 1_000;

/** While the shared limiter fails, this process counts alone (`local`) or the request is answered 503 (`reject`). */
export type OnLimiterFailure = "local" | "reject";

interface FailoverOptions {
  readonly limiter: Pick<Limiter, "take">;
  /**
   * Counts in this process while the limiter does not. Null: requests wait for the limiter as long as it takes, and pass
   * when it fails.
   */
  readonly local: Pick<Limiter, "take"> | null;
  readonly clock: () => number;
  readonly timer: Timer;
  /** Called once when an outage begins, with its reason. */
  readonly onOutage: (reason: string) => void;
  readonly onRecovery: () => void;
  readonly onUncounted: () => void;
}

export interface Spending {
  readonly subject: string;
  readonly rules: readonly LimitRule[];
  readonly onLimiterFailure: OnLimiterFailure;
  /** Units of every rule, no more than the limit of any. @default 1 */
  readonly cost?: number;
}

type Verdicts = readonly LimitVerdict[] | null;

/** Counts with the shared limiter; without it as each spending demands. */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #deadlines: Deadlines;
  readonly #patientDeadlines: Deadlines;
  /** When the limiter is tried again; null while it answers. */
  #retryAt: number | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
    const { clock, timer } = options;
    this.#deadlines = new Deadlines(limiterMsMax, clock, timer);
    this.#patientDeadlines = new Deadlines(patientMsMax, clock, timer);
  }

  /**
   * Spends the cost of every rule, or of none where one refuses; without a promise if the limiter counts in memory. Null: nothing was
   * counted, and the request may pass.
   *
   * @throws {AppError} `storage_unavailable`: the limiter fails, and the spending rejects then.
   * @throws {TypeError | RangeError} The limiter refuses the subject or the rules.
   */
  spend(spending: Spending): Verdicts | Promise<Verdicts> {
    const { limiter, clock } = this.#options;
    if (spending.onLimiterFailure === "reject") return this.#spendPatiently(spending);
    const isTrial = this.#retryAt !== null;
    if (this.#retryAt !== null) {
      if (clock() < this.#retryAt) return this.#without(spending);
      // This request tries the limiter for all others.
      this.#retryAt = clock() + limiterRetryMs;
    }
    try {
      const answer = limiter.take(spending.subject, spending.rules, spending.cost);
      if (answer instanceof Promise) return this.#awaitAnswer(answer, spending, isTrial);
      if (isTrial) this.#recover();
      return answer;
    } catch (error) {
      return this.#afterFailure(error, spending);
    }
  }

  async #awaitAnswer(
    answer: Promise<readonly LimitVerdict[]>,
    spending: Spending,
    isTrial: boolean,
  ): Promise<Verdicts> {
    try {
      const verdicts = await (this.#options.local === null ? answer : this.#deadlines.within(answer));
      if (isTrial) this.#recover();
      return verdicts;
    } catch (error) {
      return await this.#afterFailure(error, spending);
    }
  }

  async #afterFailure(error: unknown, spending: Spending): Promise<Verdicts> {
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    this.#fail(error);
    return await this.#without(spending);
  }

  /** Asks the limiter even in an outage: it may be slow only. */
  async #spendPatiently({ subject, rules, cost }: Spending): Promise<readonly LimitVerdict[]> {
    const { limiter, local } = this.#options;
    try {
      const answer = limiter.take(subject, rules, cost);
      if (local === null || !(answer instanceof Promise)) return await answer;
      return await this.#patientDeadlines.within(answer);
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      this.#fail(error);
      this.#options.onUncounted();
      const message = "Cannot serve the request while its limit cannot be counted";
      throw new AppError("storage_unavailable", message, { retryAfterMs: limiterRetryMs });
    }
  }

  async #without({ subject, rules, cost }: Spending): Promise<Verdicts> {
    this.#options.onUncounted();
    return (await this.#options.local?.take(subject, rules, cost)) ?? null;
  }

  #fail(error: unknown): void {
    const isNew = this.#retryAt === null;
    this.#retryAt = this.#options.clock() + limiterRetryMs;
    if (isNew) this.#options.onOutage(error instanceof Error ? error.message : String(error));
  }

  #recover(): void {
    if (this.#retryAt === null) return;
    this.#retryAt = null;
    this.#options.onRecovery();
  }
}

/** Grace for a late answer, in ms: it may have arrived already, behind a turn of a busy process. */
const lateGraceMs = 1;

interface Waiting {
  readonly lateAt: number;
  readonly reject: (error: Error) => void;
  isSettled: boolean;
}

/** Rejects promises that do not settle in time. All have the same timeout, so one timer watches the oldest for all. */
class Deadlines {
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
