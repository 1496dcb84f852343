import type { Store, Version, Write } from "../../storage/mod.ts";
import type { Logger } from "../logger.ts";
import type { Timer } from "../requests/body.ts";

/** How long a claim outlives the process that holds it, in ms. */
export const claimLeaseMs = 15_000;
/** How often a claim is renewed while its request is carried out, in ms. */
export const claimRenewalMs = 5_000;

/** What a claim is made of. */
export interface ClaimOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  readonly logger: Logger;
  readonly partition: string;
  readonly key: string;
  /** What the record of the claim holds. */
  readonly value: string;
}

/** A record that nobody else may make for as long as this process lives and holds it. */
export class IdempotencyClaim {
  readonly #options: ClaimOptions;
  #version: Version | null = null;
  #cancel: () => void = () => {};
  #renewal: Promise<unknown> = Promise.resolve();

  constructor(options: ClaimOptions) {
    this.#options = options;
  }

  /**
   * Whether it is this one's now.
   *
   * @throws {AppError} `storage_unavailable`: it is not; `outcome_unknown`: it may be, and then ends by itself.
   */
  async take(): Promise<boolean> {
    const isTaken = await this.#write(this.#record());
    if (isTaken) this.#renewLater();
    return isTaken;
  }

  /** Replaces the claim by what came of it. Never fails: a claim that cannot be ended ends by itself. */
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
      // What cannot be renewed now may be at the next turn, of which the lease has room for two.
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
