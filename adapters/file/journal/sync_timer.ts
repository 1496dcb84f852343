import type { Appender } from "./appender.ts";

/** Syncs a log some time after it was written to. */
export class SyncTimer {
  readonly #appender: Appender;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(appender: Appender, delayMs: number) {
    this.#appender = appender;
    this.#delayMs = delayMs;
  }

  /** Something was written: sync it in time, unless that is due already. */
  start(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // The appender remembers the failure and reports it to every commit from then on.
      this.#appender.sync().catch(() => {});
    }, this.#delayMs);
    this.#timer.unref();
  }

  /** Forgets what is due. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
