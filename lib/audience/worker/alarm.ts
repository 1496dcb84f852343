/** Calls back after a delay in ms, unless the returned function is called before. */
export type Timer = (callback: () => void, delayMs: number) => () => void;

/** Resolves after a time in ms. */
export function pause(timer: Timer, ms: number): Promise<void> {
  return new Promise(resolve => {
    timer(resolve, ms);
  });
}

/** A wait that ends early when somebody calls. */
export class Alarm {
  readonly #timer: Timer;
  #ring: (() => void) | null = null;
  #isRung = false;

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /** Ends the wait, or the next one where nobody waits. */
  ring(): void {
    this.#isRung = true;
    this.#ring?.();
  }

  /** Resolves when it is rung, with true, or after a time in ms. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#isRung) {
      await new Promise<void>(resolve => {
        const cancel = this.#timer(resolve, ms);
        this.#ring = () => {
          cancel();
          resolve();
        };
      });
      this.#ring = null;
    }
    const wasRung = this.#isRung;
    this.#isRung = false;
    return wasRung;
  }
}
