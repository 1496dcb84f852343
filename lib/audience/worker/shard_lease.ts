/**
 * The lease of a worker on its shards.
 *
 * It is no `Lease` of lib/background: one heartbeat covers all shards of a worker, and the record that the heartbeat renews
 * assigns the shards of all workers at once (`shard_assignment.ts`).
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Timer } from "../../http/mod.ts";
import { sleep } from "./alarm.ts";

/** Pause between two looks at a lease that is about to expire, in ms. */
const retryMs = 50;

/** The options of a shard lease. */
export interface ShardLeaseOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** No work begins during this last part of the lease, in ms: longer than work that has begun may take. */
  readonly marginMs: number;
}

/** The time for which a worker holds its shards. */
export class ShardLease {
  readonly #options: ShardLeaseOptions;
  #until = 0;

  constructor(options: ShardLeaseOptions) {
    this.#options = options;
  }

  /** Whether other workers may have taken the shards. */
  get hasExpired(): boolean {
    return this.#options.clock() >= this.#until;
  }

  /** Renews the lease until a time, Unix ms. */
  renew(until: number): void {
    this.#until = until;
  }

  /** Resolves with true once work may begin, with false once `isLost` returns true. */
  async canProceed(isLost: () => boolean): Promise<boolean> {
    const { clock, timer, marginMs } = this.#options;
    while (!isLost() && clock() >= this.#until - marginMs) await sleep(timer, retryMs);
    return !isLost();
  }
}
