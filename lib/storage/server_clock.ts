import { AppError } from "../base/errors/mod.ts";
import { storageTimes } from "./contract.ts";

/** Time after which the server is asked for its time again, in ms. */
const learnIntervalMs = 30_000;
/** Time in ms after which a client may try again where a clock is wrong. */
const retryMs = 1_000;

/** A server whose clock is the measure of all processes that write there. */
export interface TimedServer {
  /** Its name for people. */
  readonly name: string;
  /** Asks for its time, Unix ms. */
  time(): Promise<number>;
}

/**
 * Compares the clock of this process with that of the server, so that a process with a wrong clock writes nothing.
 *
 * Between two answers of the server, the monotonic clock of the process carries its time on. So a clock that is set wrong is
 * noticed at the next write, and no write costs a round trip for it.
 */
export class ServerClock {
  readonly #server: TimedServer;
  readonly #clock: () => number;
  #origin = 0;
  /** Monotonic time of the last answer. */
  #learntAt = Number.NEGATIVE_INFINITY;
  #learning: Promise<void> | undefined;

  /** @param clock Unix ms. */
  constructor(server: TimedServer, clock: () => number = Date.now) {
    this.#server = server;
    this.#clock = clock;
  }

  /** Returns a promise that refuses or admits a write at this time, or undefined where it is admitted at once. */
  admit(now: number): Promise<void> | undefined {
    const isRecent = performance.now() - this.#learntAt < learnIntervalMs;
    if (this.#aheadMs(now) > storageTimes.aheadMsMax) return this.#requireNotAhead();
    if (isRecent) return undefined;
    if (this.#learntAt < 0) return this.#requireNotAhead();
    // The write is admitted by the last answer; where the server cannot be asked, the write itself fails.
    this.#learn().catch(() => {});
    return undefined;
  }

  /** Returns the server's time in Unix ms; that of the process before the first write. */
  now(): number {
    return this.#learntAt < 0 ? this.#clock() : this.#origin + performance.now();
  }

  /** @throws {AppError} `storage_unavailable`: the server does not answer, or the clocks differ too much to serve requests. */
  async requireReady(): Promise<void> {
    await this.#learn();
    const aheadMs = this.#aheadMs(this.#clock());
    if (Math.abs(aheadMs) > storageTimes.readySkewMsMax) throw this.#wrongClock(aheadMs);
  }

  /** Asks first: after the machine has slept, the monotonic clock is behind and not the other one ahead. */
  async #requireNotAhead(): Promise<void> {
    await this.#learn();
    const aheadMs = this.#aheadMs(this.#clock());
    if (aheadMs > storageTimes.aheadMsMax) throw this.#wrongClock(aheadMs);
  }

  #aheadMs(now: number): number {
    return now - this.#origin - performance.now();
  }

  #learn(): Promise<void> {
    this.#learning ??= this.#askTime().finally(() => {
      this.#learning = undefined;
    });
    return this.#learning;
  }

  async #askTime(): Promise<void> {
    const time = await this.#server.time();
    this.#learntAt = performance.now();
    this.#origin = time - this.#learntAt;
  }

  #wrongClock(aheadMs: number): AppError {
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    const message =
      `Cannot use ${this.#server.name}: the clock of this process is ${seconds} s ` +
      `${aheadMs > 0 ? "ahead of" : "behind"} the server's; synchronise both with a time server`;
    return new AppError("storage_unavailable", message, { retryAfterMs: retryMs });
  }
}
