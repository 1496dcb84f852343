import type { Clock } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { Logger } from "../http/mod.ts";
import { platformPartition, type Store, type StoreWarning } from "../storage/mod.ts";

/** Time for which a write proves that the store takes writes, in ms. */
const writeAgeMs = 1_000;
/** Time for which warnings of the store are kept, in ms. */
const warningAgeMs = 60_000;

/** Options of {@linkcode Readiness}. */
export interface ReadinessOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Says if this process can serve requests: the store answers and takes writes, and the process is not about to stop. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isDraining = false;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #warnings: readonly StoreWarning[] = [];

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Makes every further check fail. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Returns what endangers the data of a store that can be used.
   *
   * @throws {AppError} `busy`: the process is about to stop; `storage_unavailable`, `outcome_unknown`.
   */
  async check(): Promise<readonly StoreWarning[]> {
    if (this.#isDraining) throw new AppError("busy", "Cannot take more requests: the server is stopping");
    await this.#options.store.ping();
    if (this.#options.clock() - this.#wroteAt >= writeAgeMs) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
    return await this.warnings();
  }

  /** Returns what endangers the data of the store, and logs what is new. */
  async warnings(): Promise<readonly StoreWarning[]> {
    const { store, clock, logger } = this.#options;
    const now = clock();
    if (store.warnings === undefined || now - this.#warnedAt < warningAgeMs) return this.#warnings;
    this.#warnedAt = now;
    const known = new Set(this.#warnings.map(({ code }) => code));
    this.#warnings = await store.warnings();
    for (const warning of this.#warnings) {
      if (!known.has(warning.code)) logger.log("warn", "store_warning", { ...warning });
    }
    return this.#warnings;
  }

  async #write(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock();
    await store.commit(platformPartition("health"), {
      writes: [{ type: "put", key: "written", value: String(now) }],
    });
    this.#wroteAt = now;
  }
}
