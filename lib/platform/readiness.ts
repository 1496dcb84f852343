import { type Clock, storedIssuer } from "../auth/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import type { Logger, ReadinessWarning } from "../http/mod.ts";
import { platformPartition, type Store } from "../storage/mod.ts";

/** Time for which a probe proves that the store takes writes and is the same, in ms. */
const probeAgeMs = 1_000;
/** Time for which warnings are kept, and without a worker before one is missed, in ms. */
const warningAgeMs = 60_000;

const noWorker: ReadinessWarning = {
  code: "no_worker",
  detail:
    "No process applies the actions that are accepted in bulk: start `grandstand worker`, or leave GRANDSTAND_WORKERS on",
};

export interface ReadinessOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The issuer that the store had when the process started. */
  readonly issuer: string;
  /** Returns false if queued actions wait for a worker that does not run. */
  readonly hasWorker: () => Promise<boolean>;
}

/**
 * Says if this process can serve requests: the store answers, takes writes and is the one that the process opened, and
 * the process is not about to stop.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isDraining = false;
  #probedAt = Number.NEGATIVE_INFINITY;
  #probing: Promise<void> | undefined;
  #isReplaced = false;
  #workerSeenAt: number;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #warnings: readonly ReadinessWarning[] = [];

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#workerSeenAt = options.clock();
  }

  /** Makes every further check fail. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Returns what an operator should put right while requests can be served.
   *
   * @throws {AppError} `busy`: the process is about to stop; `storage_unavailable`, `outcome_unknown`.
   */
  async check(): Promise<readonly ReadinessWarning[]> {
    if (this.#isDraining) throw new AppError("busy", "Cannot take more requests: the server is stopping");
    await this.#options.store.ping();
    if (this.#options.clock() - this.#probedAt >= probeAgeMs) {
      this.#probing ??= this.#probe().finally(() => {
        this.#probing = undefined;
      });
      await this.#probing;
    }
    return await this.warnings();
  }

  /** Logs what an operator should put right, and that the data of the store is gone. */
  async watch(): Promise<void> {
    await this.#isSameStore();
    await this.warnings();
  }

  /** Returns what an operator should put right, and logs what is new. */
  async warnings(): Promise<readonly ReadinessWarning[]> {
    const { store, clock, logger, hasWorker } = this.#options;
    const now = clock();
    if (now - this.#warnedAt < warningAgeMs) return this.#warnings;
    this.#warnedAt = now;
    const known = new Set(this.#warnings.map(({ code }) => code));
    const found: ReadinessWarning[] = [...((await store.warnings?.()) ?? [])];
    if (await hasWorker()) this.#workerSeenAt = now;
    else if (now - this.#workerSeenAt >= warningAgeMs) found.push(noWorker);
    this.#warnings = found;
    for (const warning of found) {
      const event = warning === noWorker ? "no_worker" : "store_warning";
      if (!known.has(warning.code)) logger.log("warn", event, { ...warning });
    }
    return found;
  }

  async #probe(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock();
    if (!(await this.#isSameStore())) {
      throw new AppError("storage_unavailable", "Cannot use the store: it is not the one that was opened");
    }
    await store.commit(platformPartition("health"), {
      writes: [{ type: "put", key: "written", value: String(now) }],
    });
    this.#probedAt = now;
  }

  /** Returns false, and logs it once, if the store was emptied or replaced: its issuer is gone or another one. */
  async #isSameStore(): Promise<boolean> {
    const { store, logger, issuer } = this.#options;
    const found = await storedIssuer(store);
    const isReplaced = found !== issuer;
    if (isReplaced && !this.#isReplaced) {
      const detail =
        "The store is empty or another one. Restore its data, or restart every process to begin with what it has";
      logger.log("error", "store_replaced", { detail, issuer, found });
    }
    this.#isReplaced = isReplaced;
    return !isReplaced;
  }
}
