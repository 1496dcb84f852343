/**
 * Commands about webhooks: their state, failed deliveries, and retries.
 *
 * @module
 */

import type { webhookAnswers } from "../loyalty/mod.ts";
import { createApiClient, type SpaceClient, spaceFlags } from "./api_client.ts";
import { deadLettersArgs, deadLettersFlags, deadLettersPageMax, runDeadLetters } from "./dead_letters.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CommandSpec } from "./frame/command.ts";
import { json } from "./frame/output.ts";

/** `webhooks list`. */
export const webhooksCommand: CommandSpec = {
  words: ["webhooks", "list"],
  summary: "List the webhooks of a space with their state",
  examples: [],
  output: json,
  args: [],
  flags: spaceFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const { data } = (await server.send<typeof webhookAnswers.WebhooksDocument>(pathOf(server))).json;
    const columns = ["ID", "STATUS", "SINCE", "WAITING", "DEAD", "LAST_FAILURE", "URL"];
    return { data, shown: { columns, rows: data.map(rowOf) } };
  },
};

/** `webhooks enable`. */
export const enableCommand: CommandSpec = {
  words: ["webhooks", "enable"],
  summary: "Enable a disabled webhook",
  examples: [],
  output: json,
  args: [{ name: "webhook", description: "Its id in the configuration" }],
  flags: spaceFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const [webhook = ""] = input.args;
    const path = `${pathOf(server, webhook)}/enable`;
    const answer = await server.send<typeof webhookAnswers.WebhookDocument>(path, { method: "POST" });
    const { data } = answer.json;
    const { secret: _, ...attributes } = data.attributes;
    const { dead_letters: dead } = attributes;
    const missed =
      dead === 0 ? [] : [`It missed ${dead}: webhooks dead-letters replay --webhook ${webhook} --all`];
    return {
      data: { ...data, attributes },
      shown: `${webhook}\n`,
      notes: [`${webhook} is enabled.`, ...missed],
    };
  },
};

/** `webhooks dead-letters`. */
export const webhookDeadLettersCommand: CommandSpec = {
  words: ["webhooks", "dead-letters"],
  summary: "List the failed deliveries of a webhook, or send them again",
  examples: [],
  output: json,
  args: deadLettersArgs,
  flags: {
    ...spaceFlags,
    webhook: { value: "id", description: "The webhook", required: true },
    ...deadLettersFlags,
  },
  async run(input, context) {
    const path = (server: SpaceClient): string => `${pathOf(server, input.flags.webhook ?? "")}/dead-letters`;
    return await runDeadLetters(input, context, {
      async page(server, offset) {
        const query = `?limit=${deadLettersPageMax}&offset=${offset}`;
        const { json } = await server.send<typeof webhookAnswers.DeadLettersDocument>(path(server) + query);
        return [json.data, json.meta.total];
      },
      idOf: ({ id }) => id,
      table: letters => ({
        columns: ["ID", "DEAD_AT", "TYPE", "MESSAGE", "ATTEMPTS", "REASON"],
        rows: letters.map(({ id, attributes }) => [
          id,
          isoOf(attributes.dead_at),
          attributes.message_type,
          attributes.message_id,
          String(attributes.attempts),
          attributes.reason,
        ]),
      }),
      async replay(server, ids) {
        const { json } = await server.send<typeof webhookAnswers.ReplayDocument>(`${path(server)}/replay`, {
          method: "POST",
          body: { ids },
        });
        const { replayed, not_found: notFound } = json.data.attributes;
        return { replayed, notFound };
      },
      queued: count => `Queued ${count} deliveries.`,
    });
  },
};

function pathOf({ space: spaceId }: SpaceClient, webhook?: string): string {
  const path = `/api/v2/spaces/${encodeURIComponent(spaceId)}/loyalty/webhooks`;
  return webhook === undefined ? path : `${path}/${encodeURIComponent(webhook)}`;
}

function rowOf({
  id,
  attributes,
}: AnswerOf<typeof webhookAnswers.WebhooksDocument>["data"][number]): string[] {
  const { status, failing_since, disabled_at, disabled_reason, last_failure } = attributes;
  const since = disabled_at ?? failing_since;
  return [
    id,
    disabled_reason === null ? status : `${status} (${disabled_reason})`,
    since === null ? "" : isoOf(since),
    String(attributes.waiting),
    String(attributes.dead_letters),
    last_failure === null ? "" : `${isoOf(last_failure.at)} ${last_failure.reason}`,
    attributes.url,
  ];
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

/** Commands that begin with `webhooks`. */
export const webhooksCommands: readonly CommandSpec[] = [
  webhooksCommand,
  enableCommand,
  webhookDeadLettersCommand,
];
