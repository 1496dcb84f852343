/** Commands about webhooks: their state, failed deliveries, and retries. */

import type { webhookAnswers } from "../fans/loyalty/mod.ts";
import { createApiClient, type SpaceClient, spaceFlags } from "./api_client.ts";
import { deadLetterCommands, deadLettersPageMax } from "./dead_letters.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CommandSpec } from "./frame/command.ts";
import { type Fields, record, rows } from "./frame/output.ts";
import { isoTime } from "./frame/text.ts";

/** A resource of the server; tables show its attributes. */
const resource: Fields = { type: [null, "text"], id: "text", attributes: [null, "json"] };

const webhooksCommand: CommandSpec = {
  words: ["webhooks", "list"],
  summary: "List the webhooks of a space with their state",
  examples: ["webhooks list", "webhooks list --space $SPACE --json"],
  output: rows(resource),
  flags: spaceFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const { data } = (await server.send<typeof webhookAnswers.WebhooksDocument>(pathOf(server))).json;
    const columns = ["ID", "STATUS", "SINCE", "WAITING", "DEAD", "LAST_FAILURE", "URL"];
    return { data, shown: { columns, rows: data.map(rowOf) } };
  },
};

const enableCommand: CommandSpec = {
  words: ["webhooks", "enable"],
  summary: "Enable a disabled webhook",
  changes: "deliveries to the webhook begin again",
  examples: ["webhooks enable crm"],
  output: record(resource),
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

type DeadLetter = AnswerOf<typeof webhookAnswers.DeadLettersDocument>["data"][number];

const webhookDeadLetters = deadLetterCommands<DeadLetter>({
  words: ["webhooks", "dead-letters"],
  summaries: {
    list: "List the failed deliveries of a webhook",
    replay: "Send failed deliveries of a webhook again",
  },
  flags: { ...spaceFlags, webhook: { value: "id", description: "The webhook", required: true } },
  example: " --webhook crm",
  output: rows(resource),
  async page(server, input, offset) {
    const path = `${pathOf(server, input.flags.webhook)}/dead-letters?limit=${deadLettersPageMax}&offset=${offset}`;
    const { json } = await server.send<typeof webhookAnswers.DeadLettersDocument>(path);
    return [json.data, json.meta.total];
  },
  idOf: ({ id }) => id,
  table: letters => ({
    columns: ["ID", "DEAD_AT", "TYPE", "MESSAGE", "ATTEMPTS", "REASON"],
    rows: letters.map(({ id, attributes }) => [
      id,
      isoTime(attributes.dead_at),
      attributes.message_type,
      attributes.message_id,
      String(attributes.attempts),
      attributes.reason,
    ]),
  }),
  async replay(server, input, ids) {
    const path = `${pathOf(server, input.flags.webhook)}/dead-letters/replay`;
    const request = { method: "POST", body: { ids } };
    const { json } = await server.send<typeof webhookAnswers.ReplayDocument>(path, request);
    const { replayed, not_found: notFound } = json.data.attributes;
    return { replayed, notFound };
  },
  queued: count => `Queued ${count} deliveries.`,
});

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
    isoTime(since) ?? "",
    String(attributes.waiting),
    String(attributes.dead_letters),
    last_failure === null ? "" : `${isoTime(last_failure.at)} ${last_failure.reason}`,
    attributes.url,
  ];
}

export const commands: readonly CommandSpec[] = [webhooksCommand, enableCommand, ...webhookDeadLetters];
