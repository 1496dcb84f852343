/**
 * How long a worker may still act on the shards that it holds.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { pause, type Timer } from "./alarm.ts";

/** How often somebody who may not act looks again, in ms. */
const lookAgainMs = 50;

/** What a hold needs. */
export interface HoldOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** How long before its end nothing is begun any more, in ms: longer than what was begun may take. */
  readonly marginMs: number;
}

/** The time until which a worker counts as alive. */
export class Hold {
  readonly #options: HoldOptions;
  #until = 0;

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** Whether others may have taken the shards by now. */
  get hasLapsed(): boolean {
    return this.#options.clock() >= this.#until;
  }

  /** Lets it last until then, Unix ms. */
  extend(until: number): void {
    this.#until = until;
  }

  /** True once something may be begun, without a promise where it may now; false when `isLost` says so. */
  permit(isLost: () => boolean): boolean | Promise<boolean> {
    if (isLost()) return false;
    return this.#mayBegin() || this.#permitLater(isLost);
  }

  async #permitLater(isLost: () => boolean): Promise<boolean> {
    do {
      await pause(this.#options.timer, lookAgainMs);
    } while (!isLost() && !this.#mayBegin());
    return !isLost();
  }

  #mayBegin(): boolean {
    return this.#options.clock() < this.#until - this.#options.marginMs;
  }
}
