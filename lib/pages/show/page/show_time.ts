/** The server's time, which a wrong clock of the device does not change. */

/** The clock of a show: `performance.now()` with an offset that the server gives. */
export class ShowTime {
  #offset = Number.NEGATIVE_INFINITY;

  /** Takes a time of the server, in Unix ms. Documents arrive late, never early, so the latest is the truest. */
  hear(serverNow: number): void {
    this.#offset = Math.max(this.#offset, serverNow - performance.now());
  }

  /** Returns the server's time, in Unix ms. */
  now(): number {
    return performance.now() + this.#offset;
  }
}
