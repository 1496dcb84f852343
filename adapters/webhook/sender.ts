/**
 * Events for other services: signed POSTs in the Standard Webhooks format.
 *
 * @module
 */

import type { WebhookMessage, WebhookSender } from "../../lib/ports/webhook_sender.ts";
import { webhookHeaders } from "../../lib/ports/webhook_signature.ts";

/** Longest time that a service may take to answer, in ms. */
export const webhookMsMax = 10_000;
/** Most messages that a sender has under way; one more is refused. */
export const webhooksUnderWayMax = 100;

/** How events are sent. */
export interface WebhookSenderOptions {
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** Makes the signal that ends an attempt after so many ms. @default AbortSignal.timeout */
  readonly timeout?: (ms: number) => AbortSignal;
}

/**
 * A message that was not delivered. The message text holds neither the address nor the contents, so that it can be logged.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";

  constructor(reason: string) {
    super(`Cannot deliver the webhook: ${reason}`);
  }
}

/**
 * Creates a sender that posts `{type, timestamp, data}`, signed. Any 2xx takes the message, redirects are not followed. It
 * attempts each message once: whoever sends it tries again, with the same id.
 */
export function createWebhookSender(options: WebhookSenderOptions = {}): WebhookSender {
  const { clock = Date.now, timeout = ms => AbortSignal.timeout(ms) } = options;
  let underWay = 0;
  return {
    async send(message) {
      if (underWay >= webhooksUnderWayMax) {
        throw new WebhookError(`${webhooksUnderWayMax} messages are under way`);
      }
      underWay += 1;
      try {
        await post(message, { now: clock(), signal: timeout(webhookMsMax) });
      } finally {
        underWay -= 1;
      }
    },
  };
}

async function post(
  { url, key, id, type, at, data }: WebhookMessage,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<void> {
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const headers = await webhookHeaders(key, { id, timestamp: Math.floor(now / 1_000), body });
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal }).catch(
    (error: unknown) => {
      throw new WebhookError(signal.aborted ? `no answer within ${webhookMsMax} ms` : codeOf(error));
    },
  );
  // The status decides; what becomes of the rest of the answer does not.
  await response.body?.cancel().catch(() => {});
  if (!response.ok) throw new WebhookError(`the service answered ${response.status}`);
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "no connection";
}
