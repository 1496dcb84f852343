/**
 * Work that goes on after the answer: mail, hooks, and whatever else must neither delay a request nor fail it.
 *
 * @module
 */

import type { ClientInfo, Logger } from "../http/mod.ts";

/** Most pieces of work that a process has under way; one more is dropped, and the log tells of it. */
export const backgroundWorkMax = 10_000;

/** Runs work in the background. */
export interface Background {
  /** Starts the work. What it throws is logged under its name. */
  run(name: string, info: ClientInfo, work: () => Promise<unknown>): void;
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>;
}

/** Creates the background of a process. */
export function createBackground(logger: Logger): Background {
  const running = new Set<Promise<void>>();
  async function attempt(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.log("error", "background_work_failed", { work: name, reason: String(error) });
    }
  }
  return {
    run(name, info, work) {
      if (running.size >= backgroundWorkMax) {
        logger.log("error", "background_work_dropped", { work: name });
        return;
      }
      const done = attempt(name, work).finally(() => running.delete(done));
      running.add(done);
      info.waitUntil?.(done);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
