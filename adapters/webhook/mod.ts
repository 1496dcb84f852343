/**
 * Sends events of the platform to other services.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, webhooks: createWebhookSender() });
 * ```
 *
 * @module
 */

export type { WebhookMessage, WebhookSender } from "../../lib/ports/webhook_sender.ts";
export {
  createWebhookSender,
  WebhookError,
  type WebhookSenderOptions,
  webhookMsMax,
  webhooksUnderWayMax,
} from "./sender.ts";
