/**
 * Webhooks: messages to other services about what changes for users.
 *
 * @module
 */

export {
  deadLettersPageMax,
  type WebhookAddress,
  type WebhookDeadLetter,
  webhookDeadLettersMax,
} from "./deliveries.ts";
export type { WebhookKeys, WebhookServices } from "./services.ts";
export { createWebhooks, type WebhookAdmin, type WebhookStatus, type Webhooks } from "./webhooks.ts";
