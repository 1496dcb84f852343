export {
  type EndpointState,
  endpointFreshMs,
  failureNotedMs,
  webhookFailingMsMax,
  webhookFailureGapMsMax,
} from "./endpoints.ts";
export {
  type DeadLetter,
  type LetterCounts,
  webhookDeadLettersMax,
  webhookDeadMsMax,
  webhookLettersPageMax,
  webhookWaitingLettersMax,
} from "./letters.ts";
export type { WebhookPlace } from "./places.ts";
export * from "./schedule.ts";
export type { WebhookOffice, WebhookStatus } from "./webhooks.ts";
