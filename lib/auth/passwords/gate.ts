/**
 * The gate before password hashes, which bounds how many run at once, how many wait, and how long.
 *
 * A native hash takes 32 MiB, and a thread that files and DNS need as well. A flood of logins must slow down logins only.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { systemTimer, type Timer } from "../../http/mod.ts";
import type { PasswordHasher } from "./hasher.ts";

/** Hashes that run at once if the runtime gives no number. */
export const concurrentHashesDefault = 2;
/** Most hashes that wait; the next one is refused at once. */
const hashesWaitingMax = 64;
const hashWaitMsMax = 2_000;

/** Options of {@linkcode createHashGate}. */
export interface HashGateOptions {
  /** Hashes that run at once, at least 1. @default 2 */
  readonly concurrentMax?: number;
  /** @default 64 */
  readonly waitingMax?: number;
  /** Longest wait, in ms. @default 2000 */
  readonly waitMsMax?: number;
  /** @default systemTimer */
  readonly timer?: Timer;
}

/** Creates a gate. A process needs one for all its hashes. */
export function createHashGate(options: HashGateOptions = {}): HashGate {
  return new HashGate(options);
}

/** Puts a hasher behind a gate. */
export function gatedHasher(hasher: PasswordHasher, gate: HashGate): PasswordHasher {
  return {
    id: hasher.id,
    hash: password => gate.run(() => hasher.hash(password)),
    verify: (phc, password) => gate.run(() => hasher.verify(phc, password)),
  };
}

/** Runs a bounded number of hashes at once, in order of arrival. */
export class HashGate {
  readonly #concurrentMax: number;
  readonly #waitingMax: number;
  readonly #waitMsMax: number;
  readonly #timer: Timer;
  /** Functions that start a waiting hash, in order of arrival. */
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

  /**
   * Does the work in its turn.
   *
   * @throws {AppError} `busy` with the time to wait: too many are waiting, or this one waited too long.
   */
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

  /** Starts the hash that has waited longest. */
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
    return new AppError("busy", "Cannot process a password now as too many are waiting: try again later", {
      retryAfterMs: this.#waitMsMax,
    });
  }
}
