import type { Store, Version, Write } from "../../storage/mod.ts";
import type { Logger } from "../logger.ts";
import type { Timer } from "../requests/body.ts";

/** Lifetime of a claim after its last renewal, in ms. */
export const claimLeaseMs = 15_000;
/** Interval between renewals while the request runs, in ms. */
export const claimRenewalMs = 5_000;

/** Options of {@linkcode IdempotencyClaim}. */
export interface ClaimOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  readonly logger: Logger;
  readonly partition: string;
  readonly key: string;
  /** Contents of the claim's record. */
  readonly value: string;
}

/** A lease on an idempotency key, renewed while the request runs. */
export class IdempotencyClaim {
  readonly #options: ClaimOptions;
  #version: Version | null = null;
  #cancel: () => void = () => {};
  #renewal: Promise<unknown> = Promise.resolve();

  constructor(options: ClaimOptions) {
    this.#options = options;
  }

  /**
   * Takes the lease. Returns false if another request holds it.
   *
   * @throws {AppError} `storage_unavailable`: the lease was not taken; `outcome_unknown`: it may have been, and then expires.
   */
  async take(): Promise<boolean> {
    const isTaken = await this.#write(this.#record());
    if (isTaken) this.#renewLater();
    return isTaken;
  }

  /** Replaces the claim with the outcome. Never fails: a claim that cannot be replaced expires. */
  async end(write: Write): Promise<void> {
    this.#cancel();
    await this.#renewal;
    try {
      if (!(await this.#write(write))) this.#warn("another request has taken it over");
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : String(error));
    }
  }

  #renewLater(): void {
    this.#cancel = this.#options.timer(() => {
      // A failed renewal is retried at the next interval; the lease lasts for three.
      this.#renewal = this.#write(this.#record()).catch(() => undefined);
      this.#renewLater();
    }, claimRenewalMs);
  }

  #record(): Write {
    const { key, value, clock } = this.#options;
    return { type: "put", key, value, expireAt: clock() + claimLeaseMs };
  }

  async #write(write: Write): Promise<boolean> {
    const { store, partition, key } = this.#options;
    const commit = await store.commit(partition, {
      checks: [{ key, version: this.#version }],
      writes: [write],
    });
    if (commit.ok) this.#version = commit.version;
    return commit.ok;
  }

  #warn(reason: string): void {
    this.#options.logger.log("warn", "idempotency_claim_lost", { reason });
  }
}
