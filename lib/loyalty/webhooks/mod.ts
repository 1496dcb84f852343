/**
 * Webhooks: messages to other services about what changes for users.
 *
 * @module
 */

export type { WebhookKeys } from "./client.ts";
export {
  deadLettersPageMax,
  type WebhookAddress,
  type WebhookDeadLetter,
  webhookDeadLettersMax,
} from "./deliveries.ts";
export {
  createWebhooks,
  type WebhookAdmin,
  type WebhookStatus,
  type Webhooks,
  type WebhooksOptions,
} from "./webhooks.ts";
