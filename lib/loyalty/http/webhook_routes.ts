/**
 * The webhooks of a space in the control API: they are part of its configuration; what signs their messages, how they do
 * and what they did not take is told here.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, type Guard, looseRoute, type Reply } from "../../http/mod.ts";
import { webhookSecretText } from "../../outbound/webhook_signature.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import type { WebhookKeys } from "../webhooks/client.ts";
import type { WebhookAddress } from "../webhooks/deliveries.ts";
import { deadLettersPageMax, webhookDeadLettersMax } from "../webhooks/deliveries.ts";
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

/** What the routes work with. */
export interface WebhookControlContext {
  readonly directory: Pick<Directory, "space">;
  /** Demands an API key that may read configurations. */
  readonly configReader: Guard<ApiKeyPrincipal>;
  /**
   * Demands an API key that may change configurations: whoever has the secret can pretend to be the platform, and who may name
   * webhooks may have everything told that they are told.
   */
  readonly configWriter: Guard<ApiKeyPrincipal>;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  readonly keyOf: WebhookKeys;
  readonly webhooks: WebhookAdmin;
}

const lettersPageDefault = 50;
const number = v.pipe(v.string(), v.regex(/^\d{1,5}$/, "Expected a whole number"), v.transform(Number));
const LettersQuery = v.object({
  limit: v.optional(
    v.pipe(number, v.minValue(1), v.maxValue(deadLettersPageMax)),
    String(lettersPageDefault),
  ),
  offset: v.optional(v.pipe(number, v.maxValue(webhookDeadLettersMax)), "0"),
});
const letterId = v.pipe(v.string(), v.regex(/^wdl_[0-9a-f]{32}$/, "Expected the id of a dead letter"));
const ReplayBody = v.strictObject({
  ids: v.pipe(v.array(letterId), v.minLength(1), v.maxLength(deadLettersPageMax)),
});
const path = "/api/v2/spaces/:spaceId/loyalty/webhooks";

/** Builds the routes of webhooks. */
export function webhookRoutes(context: WebhookControlContext): readonly AnyRoute[] {
  return [listRoute(context), getRoute(context), enableRoute(context), ...letterRoutes(context)];
}

function listRoute(context: WebhookControlContext): AnyRoute {
  return looseRoute({
    method: "GET",
    path,
    operation: "listLoyaltyWebhooks",
    summary: "The webhooks of a space's loyalty configuration, and how each does",
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
          const place = { organisationId, spaceId, webhookId: webhook.id };
          return webhookResource(webhook, await context.webhooks.status(place, webhook));
        }),
      );
      return { status: 200, json: { data, meta: { total: data.length } } };
    },
  });
}

function getRoute(context: WebhookControlContext): AnyRoute {
  return looseRoute({
    method: "GET",
    path: `${path}/:webhookId`,
    operation: "getLoyaltyWebhook",
    summary: "A webhook, how it does, and the secret that its receiver verifies messages with",
    auth: context.configWriter,
    params: WebhookParams,
    responses: { 200: { description: "The webhook", schema: WebhookDocument } },
    errors: ["not_found"],
    handle: async ({ principal, params }) =>
      await webhookReply(context, await webhookOf(context, principal, params)),
  });
}

function enableRoute(context: WebhookControlContext): AnyRoute {
  return looseRoute({
    method: "POST",
    path: `${path}/:webhookId/enable`,
    operation: "enableLoyaltyWebhook",
    summary: "Let a webhook be told again that was disabled; what it missed is among its dead letters",
    auth: context.configWriter,
    params: WebhookParams,
    responses: { 200: { description: "The webhook", schema: WebhookDocument } },
    errors: ["not_found"],
    handle: async ({ principal, params }) => {
      const found = await webhookOf(context, principal, params);
      await context.webhooks.enable(found.place, found.webhook);
      return await webhookReply(context, found);
    },
  });
}

function letterRoutes(context: WebhookControlContext): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "GET",
      path: `${path}/:webhookId/dead-letters`,
      operation: "listDeadWebhookLetters",
      summary: "What a webhook did not take, newest first, for 14 days",
      auth: context.configWriter,
      params: WebhookParams,
      query: LettersQuery,
      responses: { 200: { description: "The messages with the reasons", schema: DeadLettersDocument } },
      errors: ["not_found"],
      handle: async ({ principal, params, query }) => {
        const { place } = await webhookOf(context, principal, params);
        const { deadLetters, total } = await context.webhooks.deadLetters(place, query);
        return { status: 200, json: { data: deadLetters.map(deadLetterResource), meta: { total } } };
      },
    }),
    looseRoute({
      method: "POST",
      path: `${path}/:webhookId/dead-letters/replay`,
      operation: "replayDeadWebhookLetters",
      summary: "Send dead letters again, in the background and under the same ids",
      auth: context.configWriter,
      params: WebhookParams,
      body: { schema: ReplayBody },
      responses: { 202: { description: "Which ones are sent again", schema: ReplayDocument } },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params, body }) => {
        const { place, webhook } = await webhookOf(context, principal, params);
        const { disabled } = await context.webhooks.status(place, webhook);
        if (disabled !== null) {
          throw new AppError(
            "conflict",
            "Cannot replay the messages: the webhook is disabled, enable it first",
          );
        }
        const ids = [...new Set(body.ids)];
        const replayed = await context.webhooks.replay(place, ids);
        const attributes = { replayed, not_found: ids.filter(id => !replayed.includes(id)) };
        return { status: 202, json: { data: { type: "webhook_replays", id: webhook.id, attributes } } };
      },
    }),
  ];
}

interface Found {
  readonly place: WebhookAddress;
  readonly webhook: WebhookDefinition;
}

async function webhookOf(
  context: WebhookControlContext,
  principal: ApiKeyPrincipal,
  { spaceId, webhookId }: { readonly spaceId: string; readonly webhookId: string },
): Promise<Found> {
  await requireSpace(context, principal, spaceId);
  const { webhooks } = await context.config(spaceId);
  const webhook = webhooks.find(({ id }) => id === webhookId);
  if (webhook === undefined) {
    throw new AppError(
      "not_found",
      "Cannot find the webhook: the configuration of the space has none of this id",
    );
  }
  return { place: { organisationId: principal.organisationId, spaceId, webhookId }, webhook };
}

async function webhookReply(
  { webhooks, keyOf }: WebhookControlContext,
  { place, webhook }: Found,
): Promise<Reply> {
  const secret = webhookSecretText(keyOf(place.spaceId, webhook.id));
  const data = webhookResource(webhook, await webhooks.status(place, webhook), secret);
  return { status: 200, json: { data } };
}
