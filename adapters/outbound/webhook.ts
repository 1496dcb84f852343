/**
 * The sender of webhooks: signed events for other services.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, webhooks: createWebhookSender() });
 * ```
 *
 * @module
 */

import {
  OutboundError,
  WebhookError,
  type WebhookMessage,
  type WebhookSender,
  webhookHeaders,
} from "../../lib/base/outbound/outbound.ts";
import { type Answered, codeOf, post } from "./request.ts";
import { retryAfterMsOf } from "./retry_after.ts";
import { createTargets, networks, type Resolve, type Targets, withinTime } from "./targets.ts";

export {
  WebhookError,
  type WebhookMessage,
  type WebhookSender,
} from "../../lib/base/outbound/outbound.ts";
export { retryAfterCharactersMax } from "./retry_after.ts";
export type { HostAddress, Resolve } from "./targets.ts";

/** Longest time that a service may take to answer, in ms. */
export const webhookMsMax = 10_000;
/** Most messages that a sender has in flight; one more is refused. */
export const webhooksUnderWayMax = 100;

/** Options of the sender. */
export interface WebhookSenderOptions {
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** Makes the signal that ends an attempt after so many ms. @default AbortSignal.timeout */
  readonly timeout?: (ms: number) => AbortSignal;
  /**
   * Networks that messages may be sent to although their addresses are not public, in CIDR notation: `127.0.0.0/8` for
   * services on the machine itself. Only there messages go over http. @default none
   */
  readonly networks?: readonly string[];
  /** Finds the addresses of hosts. @default as the runtime does */
  readonly resolve?: Resolve;
}

/**
 * Creates a sender that posts `{type, timestamp, data}`, signed. Any 2xx takes the message. Redirects are not followed, and only
 * public addresses or those of the given networks are connected to. Each message is attempted once: callers retry it under the
 * same id.
 *
 * @throws {TypeError} A network is not in CIDR notation.
 */
export function createWebhookSender(options: WebhookSenderOptions = {}): WebhookSender {
  const { clock = Date.now, timeout = ms => AbortSignal.timeout(ms) } = options;
  const targets = createTargets(networks(options.networks ?? []), options.resolve);
  let underWay = 0;
  return {
    async send(message) {
      if (underWay >= webhooksUnderWayMax) {
        throw new WebhookError(`${webhooksUnderWayMax} messages are under way`);
      }
      underWay += 1;
      try {
        const now = clock();
        const { status, retryAfter } = await answerTo(message, {
          now,
          signal: timeout(webhookMsMax),
          targets,
        });
        if (status >= 200 && status < 300) return;
        const retryAfterMs = retryAfterMsOf(retryAfter, now);
        const facts = retryAfterMs === null ? { status } : { status, retryAfterMs };
        throw new WebhookError(`the service answered ${status}`, facts);
      } finally {
        underWay -= 1;
      }
    },
  };
}

interface Attempt {
  readonly now: number;
  readonly signal: AbortSignal;
  readonly targets: Targets;
}

async function answerTo(
  { url: text, key, otherKeys = [], id, type, at, data, headers: further }: WebhookMessage,
  { now, signal, targets }: Attempt,
): Promise<Answered> {
  const url = new URL(text);
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const signed = await webhookHeaders([key, ...otherKeys], { id, timestamp: Math.floor(now / 1_000), body });
  const headers = { ...further, ...signed };
  try {
    const addresses = await withinTime(targets.addressesOf(url), signal);
    return await post({ url, headers, body, addresses, signal });
  } catch (error) {
    if (signal.aborted) throw new WebhookError(noAnswer);
    throw new WebhookError(error instanceof OutboundError ? error.message : codeOf(error));
  }
}

const noAnswer = `no answer within ${webhookMsMax} ms`;
