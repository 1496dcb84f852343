/**
 * The sender of webhooks: signed events for other services.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, webhooks: createWebhookSender() });
 * ```
 *
 * @module
 */

export {
  WebhookError,
  type WebhookMessage,
  type WebhookSender,
} from "../../lib/base/outbound/webhook_sender.ts";
export { retryAfterCharactersMax } from "./retry_after.ts";
export type { HostAddress, Resolve } from "./targets.ts";
export {
  createWebhookSender,
  type WebhookSenderOptions,
  webhookMsMax,
  webhooksUnderWayMax,
} from "./webhook_sender.ts";
