/**
 * Waiting in background work.
 *
 * @module
 */

import type { Timer } from "../../../http/mod.ts";

/** A wait that another part of the process can end early. */
export class Alarm {
  readonly #timer: Timer;
  #wake: (() => void) | null = null;
  #isRung = false;

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /** Ends the wait, or the next one if there is none. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves with true when it is rung, with false after a time in ms. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#isRung) {
      await new Promise<void>(resolve => {
        const cancel = this.#timer(resolve, ms);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = null;
    }
    const wasRung = this.#isRung;
    this.#isRung = false;
    return wasRung;
  }
}
