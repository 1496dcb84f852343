import { AppError } from "../../errors/mod.ts";
import type { Clock } from "../environment.ts";
import { providerRetryMs, providerUnavailable } from "./remote_fetch.ts";

/** Failures in a row after which a provider is left alone. */
export const breakerFailuresMax = 5;

/**
 * Leaves a provider alone that fails again and again, so that requests neither wait for it nor keep it down. After
 * {@linkcode providerRetryMs} one request tries it for all.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * What `ask` answers.
   *
   * @throws {AppError} What `ask` throws, of which `provider_unavailable` and `provider_error` count as failures;
   * `provider_unavailable` at once while the provider is left alone.
   */
  async run<T>(ask: () => Promise<T>): Promise<T> {
    const now = this.#clock();
    if (this.#failures >= breakerFailuresMax) {
      if (now < this.#retryAt) throw providerUnavailable("left alone");
      this.#retryAt = now + providerRetryMs;
    }
    try {
      const answer = await ask();
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (isFailure(error)) {
        this.#failures += 1;
        this.#retryAt = this.#clock() + providerRetryMs;
      } else this.#failures = 0;
      throw error;
    }
  }
}

function isFailure(error: unknown): boolean {
  return (
    !(error instanceof AppError) || error.code === "provider_unavailable" || error.code === "provider_error"
  );
}
