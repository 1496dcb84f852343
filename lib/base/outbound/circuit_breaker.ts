import { AppError } from "../errors/mod.ts";

const failuresMax = 5;

/** Time in ms for which an open circuit refuses calls. */
export const circuitRetryMs = 5_000;

/**
 * Stops calls to a service that failed five times in a row, so that requests neither wait for it nor keep it down.
 * After 5 s one call probes the service.
 */
export class CircuitBreaker {
  readonly #clock: () => number;
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Makes the call. An {@linkcode AppError} that refuses the request is a success of the service; every other error is a
   * failure.
   *
   * @throws {AppError} `provider_unavailable` at once while the circuit is open; else what `call` throws.
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const now = this.#clock();
    if (this.#failures >= failuresMax) {
      if (now < this.#retryAt) throw providerUnavailable("the circuit is open");
      this.#retryAt = now + circuitRetryMs;
    }
    try {
      const answer = await call();
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (isFailure(error)) {
        this.#failures += 1;
        this.#retryAt = this.#clock() + circuitRetryMs;
      } else this.#failures = 0;
      throw error;
    }
  }
}

/** Creates the error for a service that cannot be reached or fails. */
export function providerUnavailable(cause: unknown): AppError {
  return new AppError("provider_unavailable", "Cannot ask the identity provider now: try again later", {
    cause,
    retryAfterMs: circuitRetryMs,
  });
}

function isFailure(error: unknown): boolean {
  return (
    !(error instanceof AppError) || error.code === "provider_unavailable" || error.code === "provider_error"
  );
}
