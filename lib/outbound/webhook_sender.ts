/**
 * The port through which the platform tells other services what happened.
 *
 * @module
 */

/** One event for one service. */
export interface WebhookMessage {
  /** An http or https URL. */
  readonly url: string;
  /** The bytes that the receiver verifies the signature with. */
  readonly key: Uint8Array;
  /** The same in every attempt, so that the receiver can tell a repetition. */
  readonly id: string;
  readonly type: string;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** JSON. */
  readonly data: unknown;
}

/** Delivers events to other services. */
export interface WebhookSender {
  /**
   * Resolves once the service has taken the message, rejects where it did not or where that cannot be known: with a
   * {@linkcode WebhookError} where there is more to say.
   */
  send(message: WebhookMessage): Promise<void>;
}

/** What is known of a failed attempt. */
export interface WebhookErrorFacts {
  /** What the service answered. @default none: it did not answer */
  readonly status?: number;
  /** How long the service asked to be left alone, in ms. @default it did not */
  readonly retryAfterMs?: number;
}

/**
 * A message that was not delivered. The message text holds neither the address nor the contents, so that it can be logged and
 * shown.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** What the service answered; null: it did not answer. */
  readonly status: number | null;
  /** How long the service asked to be left alone, in ms. */
  readonly retryAfterMs: number | null;

  constructor(reason: string, { status, retryAfterMs }: WebhookErrorFacts = {}) {
    super(`Cannot deliver the webhook: ${reason}`);
    this.status = status ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}
