/**
 * Counting that survives its counters: while the shared limiter fails or is slow, one inside the process takes over.
 *
 * A limit that nobody can count must neither stop everything behind it nor vanish. For the time of the outage each process
 * therefore grants the whole limit by itself; what must never be asked for uncounted says so and is refused instead.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../storage/mod.ts";
import { Deadlines, type Timer } from "./deadlines.ts";

/** Longest time that a request waits for the shared limiter, in ms. */
export const limiterMsMax = 50;
/** How long a limiter that failed is left alone before one request tries it again, in ms. */
export const limiterRetryMs = 1_000;

/** What happens while nobody can count for all processes: this process counts alone, or the request is refused. */
export type WhenUncounted = "count here" | "refuse";

/** What counting works with. */
export interface FailoverOptions {
  /** Counts for all processes. */
  readonly limiter: Limiter;
  /**
   * Counts in this process while the limiter does not. Null: requests wait for the limiter as long as it takes, and pass
   * when it fails.
   */
  readonly local: Limiter | null;
  /** Milliseconds from any origin. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Told once when an outage begins, with its reason. */
  readonly onOutage: (reason: string) => void;
  /** Told when it is over. */
  readonly onRecovery: () => void;
  /** Told of every request that the limiter did not count. */
  readonly onUncounted: () => void;
}

/** What is to be spent. */
export interface Spending {
  readonly subject: string;
  readonly rules: readonly LimitRule[];
  readonly whenUncounted: WhenUncounted;
  /** Units of every rule, no more than the limit of any. @default 1 */
  readonly cost?: number;
}

/** Counts with the shared limiter, and without it as each spending demands. */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #deadlines: Deadlines;
  /** When the limiter is tried again; null while it answers. */
  #retryAt: number | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines({ ms: limiterMsMax, clock: options.clock, timer: options.timer });
  }

  /**
   * Spends the cost of every rule, or of none where one refuses. Null: nobody counted, and the request may pass.
   *
   * @throws {AppError} `storage_unavailable`: nobody can count, and the spending demands to be refused then.
   * @throws {TypeError | RangeError} The limiter refuses the subject or the rules.
   */
  async spend(spending: Spending): Promise<readonly LimitVerdict[] | null> {
    const { limiter, local, clock } = this.#options;
    const isTrial = this.#retryAt !== null;
    if (this.#retryAt !== null) {
      if (clock() < this.#retryAt) return await this.#without(spending);
      // This one tries it for all others.
      this.#retryAt = clock() + limiterRetryMs;
    }
    try {
      const answer = limiter.take(spending.subject, spending.rules, spending.cost);
      const verdicts = await (local === null ? answer : this.#deadlines.within(answer));
      if (isTrial) this.#recover();
      return verdicts;
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      this.#fail(error);
      return await this.#without(spending);
    }
  }

  async #without({ subject, rules, whenUncounted, cost }: Spending): Promise<readonly LimitVerdict[] | null> {
    this.#options.onUncounted();
    if (whenUncounted === "refuse") {
      throw new AppError(
        "storage_unavailable",
        "Cannot serve the request while its limit cannot be counted",
        {
          retryAfterMs: limiterRetryMs,
        },
      );
    }
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
