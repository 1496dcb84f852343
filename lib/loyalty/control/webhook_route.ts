/**
 * The webhooks of a space in the control API: they are part of its configuration, and what signs their messages is told here.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, type Guard, type Reply, route } from "../../http/mod.ts";
import { webhookSecretText } from "../../ports/webhook_signature.ts";
import type { LoyaltyConfig, Webhook } from "../config.ts";
import type { WebhookKeys } from "../webhooks/dispatch.ts";
import { requireSpace } from "./require_space.ts";
import { WebhookParams } from "./resources.ts";

/** What the route works with. */
export interface WebhookControlContext {
  readonly directory: Pick<Directory, "space">;
  /** Demands an API key that may change configurations: whoever has the secret can pretend to be the platform. */
  readonly configWriter: Guard<ApiKeyPrincipal>;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  readonly keyOf: WebhookKeys;
}

const WebhookAnswer = v.object({
  data: v.object({
    type: v.literal("loyalty_webhooks"),
    id: v.string(),
    attributes: v.object({ url: v.string(), events: v.array(v.string()), secret: v.string() }),
  }),
});

/** Builds the route that tells a webhook's secret. */
export function webhookRoute(context: WebhookControlContext): AnyRoute {
  return route({
    method: "GET",
    path: "/api/v2/spaces/:spaceId/loyalty/webhooks/:webhookId",
    operation: "getLoyaltyWebhook",
    summary:
      "A webhook of a space's loyalty configuration, with the secret that its receiver verifies messages with",
    auth: context.configWriter,
    params: WebhookParams,
    responses: { 200: { description: "The webhook", schema: WebhookAnswer } },
    errors: ["not_found"],
    handle: async ({ principal, params: { spaceId, webhookId } }) => {
      await requireSpace(context, principal, spaceId);
      const { webhooks } = await context.config(spaceId);
      const webhook = webhooks.find(({ id }) => id === webhookId);
      if (webhook === undefined) {
        throw new AppError(
          "not_found",
          "Cannot find the webhook: the configuration of the space has none of this id",
        );
      }
      return webhookReply(webhook, context.keyOf(spaceId, webhookId));
    },
  });
}

function webhookReply({ id, url, events }: Webhook, key: Uint8Array): Reply {
  const attributes = { url, events, secret: webhookSecretText(key) };
  return { status: 200, json: { data: { type: "loyalty_webhooks", id, attributes } } };
}
