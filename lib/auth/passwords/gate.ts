/**
 * The gate before password hashes: how many run at once, how many wait for their turn, and for how long.
 *
 * A native hash takes a thread that file and name look-ups need as well, and 32 MiB; a flood of logins must cost those who
 * log in, and nobody else.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { systemTimer, type Timer } from "../../http/mod.ts";
import type { PasswordHasher } from "./hasher.ts";

/** Hashes that run at once where the runtime does not say. */
export const concurrentHashesDefault = 2;
/** Most hashes that wait for their turn; the next is refused at once. */
export const hashesWaitingMax = 64;
/** Longest wait for a turn, in ms. */
export const hashWaitMsMax = 2_000;

/** Lets a bounded number of hashes run at once, in order of arrival. */
export interface HashGate {
  /**
   * Does the work when its turn comes.
   *
   * @throws {AppError} `busy` with the time to wait: too many are waiting, or the turn did not come in time.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** How a gate is set. */
export interface HashGateOptions {
  /** Hashes that run at once, at least 1. @default concurrentHashesDefault */
  readonly concurrentMax?: number;
  /** @default hashesWaitingMax */
  readonly waitingMax?: number;
  /** Longest wait, in ms. @default hashWaitMsMax */
  readonly waitMsMax?: number;
  /** @default systemTimer */
  readonly timer?: Timer;
}

/** Creates a gate. One process has one for all its hashes. */
export function createHashGate(options: HashGateOptions = {}): HashGate {
  return new Gate(options);
}

/** The same hasher behind a gate. */
export function gatedHasher(hasher: PasswordHasher, gate: HashGate): PasswordHasher {
  return {
    id: hasher.id,
    hash: password => gate.run(() => hasher.hash(password)),
    verify: (phc, password) => gate.run(() => hasher.verify(phc, password)),
  };
}

class Gate implements HashGate {
  readonly #concurrentMax: number;
  readonly #waitingMax: number;
  readonly #waitMsMax: number;
  readonly #timer: Timer;
  /** What lets each in, in order of arrival. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(options: HashGateOptions) {
    this.#concurrentMax = options.concurrentMax ?? concurrentHashesDefault;
    this.#waitingMax = options.waitingMax ?? hashesWaitingMax;
    this.#waitMsMax = options.waitMsMax ?? hashWaitMsMax;
    this.#timer = options.timer ?? systemTimer;
    if (!Number.isInteger(this.#concurrentMax) || this.#concurrentMax < 1) {
      throw new RangeError(`Cannot run ${this.#concurrentMax} hashes at once, at least 1 is needed`);
    }
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#concurrentMax) this.#running++;
    else await this.#turn();
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.size >= this.#waitingMax) throw this.#busy();
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#timer(() => {
        this.#waiting.delete(enter);
        reject(this.#busy());
      }, this.#waitMsMax);
      this.#waiting.add(enter);
    });
  }

  /** Hands the place to whoever waits longest. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  #busy(): AppError {
    return new AppError("busy", "Cannot work on a password now as many others wait: try again later", {
      retryAfterMs: this.#waitMsMax,
    });
  }
}
