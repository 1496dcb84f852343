/**
 * How webhooks and what they did not take look in the control API. Times are Unix seconds.
 *
 * @module
 */

import * as v from "valibot";
import type { WebhookDefinition } from "../config/document.ts";
import { ChangePayloadSchema } from "../views/change_payload.ts";
import type { WebhookDeadLetter } from "../webhooks/deliveries.ts";
import type { WebhookStatus } from "../webhooks/webhooks.ts";

const time = v.nullable(v.number());
/** What messages of transactions hold; those of other areas hold facts of their own. */
const TransactionMessage = v.object({
  organisationId: v.string(),
  spaceId: v.string(),
  userId: v.string(),
  transaction: v.object({
    id: v.string(),
    timestamp: v.number(),
    type: v.string(),
    payload: ChangePayloadSchema,
  }),
});
const WebhookEntry = v.object({
  type: v.literal("loyalty_webhooks"),
  id: v.string(),
  attributes: v.object({
    url: v.string(),
    events: v.array(v.string()),
    secret: v.optional(v.string()),
    status: v.picklist(["ok", "failing", "disabled"]),
    failing_since: time,
    last_failure: v.nullable(v.object({ at: v.number(), reason: v.string() })),
    disabled_at: time,
    disabled_reason: v.nullable(v.picklist(["gone", "failing"])),
    waiting: v.number(),
    dead_letters: v.number(),
  }),
});

/** A webhook. */
export const WebhookDocument: v.GenericSchema = v.object({ data: WebhookEntry });
/** The webhooks of a space. */
export const WebhooksDocument: v.GenericSchema = v.object({
  data: v.array(WebhookEntry),
  meta: v.object({ total: v.number() }),
});
/** What a webhook did not take. */
export const DeadLettersDocument: v.GenericSchema = v.object({
  data: v.array(
    v.object({
      type: v.literal("webhook_dead_letters"),
      id: v.string(),
      attributes: v.object({
        message_id: v.string(),
        message_type: v.string(),
        happened_at: v.number(),
        data: v.union([TransactionMessage, v.record(v.string(), v.unknown())]),
        attempts: v.number(),
        reason: v.string(),
        dead_at: v.number(),
      }),
    }),
  ),
  meta: v.object({ total: v.number() }),
});
/** Which messages are sent again. */
export const ReplayDocument: v.GenericSchema = v.object({
  data: v.object({
    type: v.literal("webhook_replays"),
    id: v.string(),
    attributes: v.object({ replayed: v.array(v.string()), not_found: v.array(v.string()) }),
  }),
});

/** A webhook as a resource; with its secret where one is given. */
export function webhookResource(
  { id, url, events }: WebhookDefinition,
  status: WebhookStatus,
  secret?: string,
): unknown {
  const { failingSince, lastFailure, disabled, deliveries: letters } = status;
  return {
    type: "loyalty_webhooks",
    id,
    attributes: {
      url,
      events,
      ...(secret === undefined ? {} : { secret }),
      status: disabled !== null ? "disabled" : failingSince === null ? "ok" : "failing",
      failing_since: failingSince === null ? null : seconds(failingSince),
      last_failure: lastFailure === null ? null : { at: seconds(lastFailure.at), reason: lastFailure.reason },
      disabled_at: disabled === null ? null : seconds(disabled.at),
      disabled_reason: disabled?.reason ?? null,
      waiting: letters.waiting,
      dead_letters: letters.dead,
    },
  };
}

/** A dead letter as a resource. */
export function deadLetterResource({
  deliveryId: letterId,
  id,
  type,
  at,
  data,
  attempts,
  reason,
  deadAt,
}: WebhookDeadLetter): unknown {
  return {
    type: "webhook_dead_letters",
    id: letterId,
    attributes: {
      message_id: id,
      message_type: type,
      happened_at: seconds(at),
      data,
      attempts,
      reason: reason ?? "Cannot deliver the webhook",
      dead_at: seconds(deadAt),
    },
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
