/**
 * Port for the delivery of webhooks.
 *
 * @module
 */

/** One event for one receiver. */
export interface WebhookMessage {
  /** An http or https URL. */
  readonly url: string;
  /** Key of the signature. */
  readonly key: Uint8Array;
  /** The same in every attempt, so that the receiver can ignore duplicates. */
  readonly id: string;
  readonly type: string;
  /** Time of the event, Unix ms. */
  readonly at: number;
  /** JSON. */
  readonly data: unknown;
  /** Further header fields, in lower case. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Delivers webhooks. */
export interface WebhookSender {
  /**
   * Resolves once the receiver has accepted the message; rejects if it has not or the outcome is unknown. A
   * {@linkcode WebhookError} carries the receiver's answer.
   */
  send(message: WebhookMessage): Promise<void>;
}

/** Facts about a failed attempt. */
export interface WebhookErrorFacts {
  /** Status of the answer. @default none: the receiver did not answer */
  readonly status?: number;
  /** Delay that the receiver asked for (`Retry-After`), in ms. @default none */
  readonly retryAfterMs?: number;
}

/**
 * A failed delivery. Its message holds neither the address nor the contents, so that it can be logged.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** Status of the answer; null if the receiver did not answer. */
  readonly status: number | null;
  /** Delay that the receiver asked for (`Retry-After`), in ms; null if it asked for none. */
  readonly retryAfterMs: number | null;

  constructor(reason: string, { status, retryAfterMs }: WebhookErrorFacts = {}) {
    super(`Cannot deliver the webhook: ${reason}`);
    this.status = status ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}
