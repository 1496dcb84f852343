export type { WebhookAddress } from "./delivery.ts";
export {
  type DeliveryCounts,
  deadLettersPageMax,
  type WebhookDeadLetter,
  webhookDeadLettersMax,
  webhookDeadMsMax,
  webhookDeliveriesWaitingMax,
} from "./delivery_store.ts";
export {
  type EndpointState,
  endpointFreshMs,
  failureNotedMs,
  webhookFailingMsMax,
  webhookFailureGapMsMax,
} from "./endpoints.ts";
export * from "./schedule.ts";
export type { WebhookAdmin, WebhookStatus } from "./webhooks.ts";
