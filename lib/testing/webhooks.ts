/** The webhooks that a platform delivers in a test. */

import { WebhookError, type WebhookMessage, type WebhookSender } from "../base/outbound/webhook_sender.ts";

/** A way for deliveries to fail. */
export interface WebhookFailure {
  /** Status that the receiver answers. @default it does not answer */
  readonly status?: number;
  /** Delay that the receiver asks for, in ms. @default none */
  readonly retryAfterMs?: number;
  /** Attempts that fail. @default all until `accept` is called */
  readonly times?: number;
}

/** Receives webhooks instead of sending them. */
export class WebhookInbox implements WebhookSender {
  #received: WebhookMessage[] = [];
  #attempts = 0;
  #failure: WebhookFailure = { times: 0 };
  #failed = 0;

  async send(message: WebhookMessage): Promise<void> {
    this.#attempts += 1;
    const { times = Number.POSITIVE_INFINITY, status } = this.#failure;
    if (this.#failed < times) {
      this.#failed += 1;
      const reason = status === undefined ? "the service does not answer" : `the service answers ${status}`;
      throw new WebhookError(reason, this.#failure);
    }
    this.#received.push(message);
  }

  /** Messages in the order in which they were accepted. */
  get received(): readonly WebhookMessage[] {
    return this.#received;
  }

  /** Number of attempts so far, those that failed included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Lets deliveries fail from now on. The platform tries again as time passes. */
  fail(failure: WebhookFailure = {}): void {
    this.#failure = failure;
    this.#failed = 0;
  }

  /** Lets deliveries succeed from now on. */
  accept(): void {
    this.fail({ times: 0 });
  }

  /** Forgets what was received so far. */
  clear(): void {
    this.#received = [];
    this.#attempts = 0;
  }
}
