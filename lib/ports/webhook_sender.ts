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
  /** Resolves once the service has taken the message, rejects where it did not or where that cannot be known. */
  send(message: WebhookMessage): Promise<void>;
}
