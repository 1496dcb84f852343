/** Valid requests about the webhook of the spare space. */

import type { Example } from "./_operations.ts";

const params = { webhookId: "crm" };
const body = { ids: [`wdl_${"0".repeat(32)}`] };

/** The examples by operation. */
export const webhookExamples: readonly (readonly [string, readonly Partial<Example>[]])[] = [
  ["getLoyaltyWebhook", [{ params }]],
  ["enableLoyaltyWebhook", [{ params }]],
  ["listDeadWebhookLetters", [{ params, query: { limit: "2", offset: "0" } }]],
  ["replayDeadWebhookLetters", [{ params, body }]],
];
