/**
 * The lease of a worker on its shards.
 *
 * It is no `Lease` of lib/storage/background: one heartbeat covers all shards of a worker, and the record that the heartbeat renews
 * assigns the shards of all workers at once (`shard_assignment.ts`).
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import type { Timer } from "../../../http/mod.ts";
import { sleep } from "../../../storage/background/mod.ts";

/** Pause between two looks at a lease that is about to expire, in ms. */
const retryMs = 50;

/** The time for which a worker holds its shards. */
export class ShardLease {
  readonly #clock: Clock;
  readonly #timer: Timer;
  readonly #marginMs: number;
  #until = 0;

  /** @param marginMs No work begins during this last part of the lease: longer than work that has begun may take. */
  constructor(clock: Clock, timer: Timer, marginMs: number) {
    this.#clock = clock;
    this.#timer = timer;
    this.#marginMs = marginMs;
  }

  /** True if other workers may have taken the shards. */
  get hasExpired(): boolean {
    return this.#clock() >= this.#until;
  }

  /** Renews the lease until a time, Unix ms. */
  renew(until: number): void {
    this.#until = until;
  }

  /** Resolves with true once work may begin, with false once `isLost` returns true. */
  async canProceed(isLost: () => boolean): Promise<boolean> {
    while (!isLost() && this.#clock() >= this.#until - this.#marginMs) await sleep(this.#timer, retryMs);
    return !isLost();
  }
}
