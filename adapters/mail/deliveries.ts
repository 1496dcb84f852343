/**
 * How a mail is handed over, whatever takes it: within one time limit, with a second attempt where the first may have
 * been bad luck, and with a bound on what waits.
 *
 * @module
 */

import { clearTimeout, setTimeout } from "node:timers";
import { MailError } from "./mail_error.ts";

/** Longest time that a mail may take, the second attempt included, in ms. */
export const sendMsMax = 20_000;
/** Pause before the second attempt, in ms. */
export const retryPauseMs = 3_000;
/** Most mails that a mailer has under way; one more is refused as `busy`. */
export const mailsUnderWayMax = 1_000;

/** Calls a function after so many ms, unless what it answers is called before. */
export type After = (ms: number, act: () => void) => () => void;

/** The timer of the process. */
export function processTimer(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** Runs deliveries by one timer. */
export class Deliveries {
  readonly #after: After;
  #underWay = 0;

  constructor(after: After) {
    this.#after = after;
  }

  /**
   * Attempts a delivery, twice where the first attempt fails in a way that may pass. The attempt must end when the signal
   * is aborted.
   *
   * @throws {MailError} What the last attempt failed with, `timeout` or `busy`.
   */
  async run(attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#underWay >= mailsUnderWayMax) {
      throw new MailError("busy", `${mailsUnderWayMax} mails are under way`);
    }
    this.#underWay++;
    const limit = new AbortController();
    const stopTimer = this.#after(sendMsMax, () => limit.abort());
    try {
      await this.#attempt(attempt, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      throw new MailError("timeout", `it was not accepted within ${sendMsMax} ms`);
    } finally {
      stopTimer();
      this.#underWay--;
    }
  }

  async #attempt(attempt: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      return await attempt(signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof MailError && error.retryable)) throw error;
    }
    await this.#pause(signal);
    await attempt(signal);
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopTimer = this.#after(retryPauseMs, resolve);
      signal.addEventListener("abort", () => {
        stopTimer();
        reject(signal.reason);
      });
    });
  }
}
