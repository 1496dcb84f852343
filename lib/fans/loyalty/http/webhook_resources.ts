/** Webhooks and dead letters as resources of the control API. Times are Unix seconds. */

import * as v from "valibot";
import { type Immutable, named } from "../../../http/mod.ts";
import type { WebhookDefinition } from "../config/document.ts";
import { TransactionSchema } from "../user/change_payload.ts";
import type { WebhookDeadLetter } from "../webhooks/deliveries.ts";
import type { WebhookStatus } from "../webhooks/webhooks.ts";

const integer = v.pipe(v.number(), v.integer());
const time = v.pipe(v.number(), v.integer(), v.description("Unix time in seconds"));
const optionalTime = v.nullable(time);
const meta = v.object({ total: integer });

/** The data of messages about transactions; those of other areas have members of their own. */
const TransactionMessage = named(
  "WebhookTransactionMessage",
  v.object({
    organisationId: v.string(),
    spaceId: v.string(),
    userId: v.string(),
    transaction: TransactionSchema,
  }),
);
const Webhook = named(
  "LoyaltyWebhook",
  v.object({
    type: v.literal("loyalty_webhooks"),
    id: v.string(),
    attributes: v.object({
      url: v.string(),
      events: v.array(v.string()),
      secret: v.exactOptional(
        v.pipe(v.string(), v.description("Secret with which the receiver verifies messages")),
      ),
      status: v.picklist(["ok", "failing", "disabled"]),
      failing_since: optionalTime,
      last_failure: v.nullable(v.object({ at: time, reason: v.string() })),
      disabled_at: optionalTime,
      disabled_reason: v.nullable(v.picklist(["gone", "failing"])),
      waiting: integer,
      dead_letters: integer,
    }),
  }),
);
const DeadLetter = named(
  "WebhookDeadLetter",
  v.object({
    type: v.literal("webhook_dead_letters"),
    id: v.string(),
    attributes: v.object({
      message_id: v.string(),
      message_type: v.string(),
      happened_at: time,
      data: v.union([TransactionMessage, v.record(v.string(), v.unknown())]),
      attempts: integer,
      reason: v.string(),
      dead_at: time,
    }),
  }),
);

export const WebhookDocument = named("LoyaltyWebhookDocument", v.object({ data: Webhook }));
export const WebhooksDocument = named("LoyaltyWebhooksDocument", v.object({ data: v.array(Webhook), meta }));
export const DeadLettersDocument = named(
  "WebhookDeadLettersDocument",
  v.object({ data: v.array(DeadLetter), meta }),
);
export const ReplayDocument = named(
  "WebhookReplayDocument",
  v.object({
    data: named(
      "WebhookReplay",
      v.object({
        type: v.literal("webhook_replays"),
        id: v.string(),
        attributes: v.object({ replayed: v.array(v.string()), not_found: v.array(v.string()) }),
      }),
    ),
  }),
);

export function webhookResource(
  { id, url, events }: WebhookDefinition,
  status: WebhookStatus,
  secret?: string,
): Immutable<v.InferOutput<typeof Webhook>> {
  const { failingSince, lastFailure, disabled, deliveries } = status;
  return {
    type: "loyalty_webhooks",
    id,
    attributes: {
      url,
      events,
      ...(secret === undefined ? {} : { secret }),
      status: disabled !== null ? "disabled" : failingSince === null ? "ok" : "failing",
      failing_since: failingSince === null ? null : inSeconds(failingSince),
      last_failure:
        lastFailure === null ? null : { at: inSeconds(lastFailure.at), reason: lastFailure.reason },
      disabled_at: disabled === null ? null : inSeconds(disabled.at),
      disabled_reason: disabled?.reason ?? null,
      waiting: deliveries.waiting,
      dead_letters: deliveries.dead,
    },
  };
}

export function deadLetterResource(
  deadLetter: WebhookDeadLetter,
): Immutable<v.InferOutput<typeof DeadLetter>> {
  const { deliveryId, id, type, at, data, attempts, reason, deadAt } = deadLetter;
  return {
    type: "webhook_dead_letters",
    id: deliveryId,
    attributes: {
      message_id: id,
      message_type: type,
      happened_at: inSeconds(at),
      data: data as Readonly<Record<string, unknown>>,
      attempts,
      reason: reason ?? "Cannot deliver the webhook",
      dead_at: inSeconds(deadAt),
    },
  };
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
