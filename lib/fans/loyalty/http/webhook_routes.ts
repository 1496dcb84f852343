/**
 * The webhooks of a space in the control API: their secrets, health and dead letters. The configuration of the space defines
 * them.
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { webhookSecretText } from "../../../base/outbound/outbound.ts";
import {
  type Guard,
  type Immutable,
  integerParameter,
  type JsonReply,
  json,
  named,
  route,
} from "../../../http/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import { deadLettersPageMax, type WebhookAddress, webhookDeadLettersMax } from "../webhooks/deliveries.ts";
import type { WebhookKeys } from "../webhooks/services.ts";
import type { WebhookAdmin } from "../webhooks/webhooks.ts";
import { requireSpace, SpaceParams, WebhookParams } from "./resources.ts";
import {
  DeadLettersDocument,
  deadLetterResource,
  ReplayDocument,
  WebhookDocument,
  WebhooksDocument,
  webhookResource,
} from "./webhook_resources.ts";

export interface WebhookControlContext {
  readonly directory: Pick<Directory, "space">;
  /** Requires an API key that may read configurations. */
  readonly configReader: Guard<ApiKeyPrincipal>;
  /**
   * Requires an API key that may change configurations, also for secrets and dead letters: a secret lets its holder pose as the
   * platform, and a key that may define webhooks can receive all messages anyway.
   */
  readonly configWriter: Guard<ApiKeyPrincipal>;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  readonly keyOf: WebhookKeys;
  readonly webhooks: WebhookAdmin;
}

const PageQuery = v.object({
  limit: v.optional(
    integerParameter({ description: "Most dead letters", minimum: 1, maximum: deadLettersPageMax }),
    "50",
  ),
  offset: v.optional(
    integerParameter({ description: "Number of dead letters to skip", maximum: webhookDeadLettersMax }),
    "0",
  ),
});
const deliveryId = v.pipe(v.string(), v.regex(/^wdl_[0-9a-f]{32}$/, "Expected the id of a dead letter"));
const ReplayBody = named(
  "WebhookDeadLetterIds",
  v.strictObject({
    ids: v.pipe(
      v.array(deliveryId),
      v.description("Ids of the dead letters to send again"),
      v.minLength(1),
      v.maxLength(deadLettersPageMax),
    ),
  }),
);
const path = "/api/v2/spaces/:spaceId/loyalty/webhooks";

export function webhookRoutes(context: WebhookControlContext) {
  return [listRoute(context), ...webhookRoutesOfOne(context), ...deadLetterRoutes(context)];
}

function listRoute(context: WebhookControlContext) {
  return route({
    method: "GET",
    path,
    operation: "listLoyaltyWebhooks",
    summary: "List the webhooks of a space",
    description: "Returns the webhooks of the loyalty configuration with their health.",
    auth: context.configReader,
    params: SpaceParams,
    responses: { 200: { description: "The webhooks, without their secrets", schema: WebhooksDocument } },
    errors: ["not_found"],
    handle: async ({ principal, params: { spaceId } }) => {
      await requireSpace(context, principal, spaceId);
      const { webhooks } = await context.config(spaceId);
      const { organisationId } = principal;
      const data = await Promise.all(
        webhooks.map(async webhook => {
          const address = { organisationId, spaceId, webhookId: webhook.id };
          return webhookResource(webhook, await context.webhooks.status(address, webhook));
        }),
      );
      return json(200, { data, meta: { total: data.length } });
    },
  });
}

function webhookRoutesOfOne(context: WebhookControlContext) {
  const common = {
    auth: context.configWriter,
    params: WebhookParams,
    responses: { 200: { description: "The webhook", schema: WebhookDocument } },
    errors: ["not_found"],
  } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: `${path}/:webhookId`,
      operation: "getLoyaltyWebhook",
      summary: "Get a webhook with its secret",
      description:
        "Returns the webhook, its health, and the secret with which its receiver verifies messages.",
      handle: async ({ principal, params }) =>
        await webhookReply(context, await findWebhook(context, principal, params)),
    }),
    route({
      ...common,
      method: "POST",
      path: `${path}/:webhookId/enable`,
      operation: "enableLoyaltyWebhook",
      summary: "Enable a disabled webhook",
      description: "What the webhook missed is among its dead letters: replay them afterwards.",
      handle: async ({ principal, params }) => {
        const found = await findWebhook(context, principal, params);
        await context.webhooks.enable(found.address, found.webhook);
        return await webhookReply(context, found);
      },
    }),
  ];
}

function deadLetterRoutes(context: WebhookControlContext) {
  return [
    route({
      method: "GET",
      path: `${path}/:webhookId/dead-letters`,
      operation: "listDeadWebhookLetters",
      summary: "List the dead letters of a webhook",
      description: "Newest first. A message that was given up is kept for 14 days.",
      auth: context.configWriter,
      params: WebhookParams,
      query: PageQuery,
      responses: { 200: { description: "The messages with the reasons", schema: DeadLettersDocument } },
      errors: ["not_found"],
      handle: async ({ principal, params, query }) => {
        const { address } = await findWebhook(context, principal, params);
        const { deadLetters, total } = await context.webhooks.deadLetters(address, query);
        return json(200, { data: deadLetters.map(deadLetterResource), meta: { total } });
      },
    }),
    route({
      method: "POST",
      path: `${path}/:webhookId/dead-letters/replay`,
      operation: "replayDeadWebhookLetters",
      summary: "Replay dead letters",
      description: "Sends the messages again, in the background and under the same ids.",
      auth: context.configWriter,
      params: WebhookParams,
      body: { schema: ReplayBody, example: { ids: [`wdl_${"0".repeat(32)}`] } },
      responses: { 202: { description: "The messages that are sent again", schema: ReplayDocument } },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params, body }) => {
        const { address, webhook } = await findWebhook(context, principal, params);
        const { disabled } = await context.webhooks.status(address, webhook);
        if (disabled !== null) {
          throw new AppError(
            "conflict",
            "Cannot replay the messages: the webhook is disabled, enable it first",
          );
        }
        const ids = [...new Set(body.ids)];
        const replayed = await context.webhooks.replay(address, ids);
        const attributes = { replayed, not_found: ids.filter(id => !replayed.includes(id)) };
        return json(202, { data: { type: "webhook_replays", id: webhook.id, attributes } });
      },
    }),
  ];
}

async function findWebhook(
  context: WebhookControlContext,
  principal: ApiKeyPrincipal,
  { spaceId, webhookId }: v.InferOutput<typeof WebhookParams>,
): Promise<{ readonly address: WebhookAddress; readonly webhook: WebhookDefinition }> {
  await requireSpace(context, principal, spaceId);
  const { webhooks } = await context.config(spaceId);
  const webhook = webhooks.find(({ id }) => id === webhookId);
  if (webhook === undefined) {
    throw new AppError(
      "not_found",
      "Cannot find the webhook: the configuration of the space has none of this id",
    );
  }
  return { address: { organisationId: principal.organisationId, spaceId, webhookId }, webhook };
}

async function webhookReply(
  { webhooks, keyOf }: WebhookControlContext,
  { address, webhook }: Awaited<ReturnType<typeof findWebhook>>,
): Promise<JsonReply<200, Immutable<v.InferOutput<typeof WebhookDocument>>>> {
  const secret = webhookSecretText(keyOf(address.spaceId, webhook.id)[0]);
  return json(200, { data: webhookResource(webhook, await webhooks.status(address, webhook), secret) });
}
