/**
 * Work that continues after the answer, such as mail: it neither delays a request nor fails it.
 *
 * @module
 */

import type { ClientInfo, Logger } from "../../http/mod.ts";

/** Most running pieces of work; a further one is dropped and logged. */
const runningMax = 10_000;

/** The background work of a process. */
export class BackgroundWork {
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Starts the work. Errors are logged under its name. */
  run(name: string, info: ClientInfo, work: () => Promise<unknown>): void {
    if (this.#running.size >= runningMax) {
      this.#logger.log("error", "background_work_dropped", { work: name });
      return;
    }
    const done = this.#attempt(name, work).finally(() => this.#running.delete(done));
    this.#running.add(done);
    info.waitUntil?.(done);
  }

  /** Resolves when no work is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #attempt(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.log("error", "background_work_failed", { work: name, reason: String(error) });
    }
  }
}
