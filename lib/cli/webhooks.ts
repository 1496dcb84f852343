/**
 * Commands about webhooks: their state, failed deliveries, and retries.
 *
 * @module
 */

import { type ApiClient, createApiClient, spaceFlags } from "./api_client.ts";
import {
  type CliContext,
  CliError,
  type CliInput,
  type CliResult,
  type CommandSpec,
  exits,
} from "./command.ts";

/** Most dead letters of one request. */
const pageMax = 100;
const { url, space, key } = spaceFlags;

interface Webhook {
  readonly id: string;
  readonly attributes: {
    readonly url: string;
    readonly status: string;
    readonly failing_since: number | null;
    readonly last_failure: { readonly at: number; readonly reason: string } | null;
    readonly disabled_at: number | null;
    readonly disabled_reason: string | null;
    readonly waiting: number;
    readonly dead_letters: number;
  };
}

interface DeadLetter {
  readonly id: string;
  readonly attributes: {
    readonly message_id: string;
    readonly message_type: string;
    readonly attempts: number;
    readonly reason: string;
    readonly dead_at: number;
  };
}

/** `webhooks list`. */
export const webhooksCommand: CommandSpec = {
  words: ["webhooks", "list"],
  summary: "List the webhooks of a space with their state",
  args: [],
  flags: { url, space, key },
  async run(input, context) {
    const server = createApiClient(input, context);
    const { json } = await server.send(pathOf(server));
    const { data } = json as { readonly data: readonly Webhook[] };
    const columns = ["ID", "STATUS", "SINCE", "WAITING", "DEAD", "LAST_FAILURE", "URL"];
    return { data, shown: { columns, rows: data.map(rowOf) } };
  },
};

/** `webhooks enable`. */
export const enableCommand: CommandSpec = {
  words: ["webhooks", "enable"],
  summary: "Enable a disabled webhook",
  args: [{ name: "webhook", description: "Its id in the configuration" }],
  flags: { url, space, key },
  async run(input, context) {
    const server = createApiClient(input, context);
    const [webhook = ""] = input.args;
    const { json } = await server.send(`${pathOf(server, webhook)}/enable`, { method: "POST" });
    const { data } = json as { readonly data: Webhook };
    const { secret: _, ...attributes } = data.attributes as Webhook["attributes"] & { secret?: string };
    const { dead_letters: dead } = attributes;
    const missed =
      dead === 0 ? [] : [`It missed ${dead}: webhooks dead-letters replay --webhook ${webhook} --all`];
    return { data: { ...data, attributes }, notes: [`${webhook} is enabled.`, ...missed] };
  },
};

/** `webhooks dead-letters`. */
export const webhookDeadLettersCommand: CommandSpec = {
  words: ["webhooks", "dead-letters"],
  summary: "List the failed deliveries of a webhook, or send them again",
  args: [{ name: "list|replay", description: "The task" }],
  flags: {
    url,
    space,
    key,
    webhook: { value: "id", description: "The webhook", required: true },
    id: { value: "id", description: "Replay this one; may be repeated", repeated: true },
    all: { description: "Replay all" },
  },
  async run(input, context) {
    const [task = ""] = input.args;
    if (task === "list") return await listed(input, context);
    if (task === "replay") return await replayed(input, context);
    throw wrong(`dead-letters takes list or replay, not "${task}"`);
  },
};

async function listed(input: CliInput, context: CliContext): Promise<CliResult> {
  const server = createApiClient(input, context);
  const deadLetters = await deadLettersOf(server, input.flags.webhook ?? "");
  const rows = deadLetters.map(({ id, attributes }) => [
    id,
    isoOf(attributes.dead_at),
    attributes.message_type,
    attributes.message_id,
    String(attributes.attempts),
    attributes.reason,
  ]);
  return {
    data: deadLetters,
    shown: { columns: ["ID", "DEAD_AT", "TYPE", "MESSAGE", "ATTEMPTS", "REASON"], rows },
  };
}

async function replayed(input: CliInput, context: CliContext): Promise<CliResult> {
  const server = createApiClient(input, context);
  const webhook = input.flags.webhook ?? "";
  const named = input.lists.id ?? [];
  const isAll = input.flags.all !== undefined;
  if (isAll === named.length > 0) throw wrong("replay needs either --id or --all");
  const ids = isAll ? (await deadLettersOf(server, webhook)).map(({ id }) => id) : named;
  const again: string[] = [];
  const notFound: string[] = [];
  for (let start = 0; start < ids.length; start += pageMax) {
    const { json } = await server.send(`${pathOf(server, webhook)}/dead-letters/replay`, {
      method: "POST",
      body: { ids: ids.slice(start, start + pageMax) },
    });
    const { data } = json as {
      readonly data: { readonly attributes: { readonly replayed: string[]; readonly not_found: string[] } };
    };
    again.push(...data.attributes.replayed);
    notFound.push(...data.attributes.not_found);
  }
  return {
    data: { replayed: again, notFound },
    notes: [`Queued ${again.length} deliveries.`, ...notFound.map(id => `${id} no longer exists.`)],
    exit: notFound.length > 0 ? exits.notFound : exits.ok,
  };
}

async function deadLettersOf(server: ApiClient, webhook: string): Promise<readonly DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (;;) {
    const query = `?limit=${pageMax}&offset=${found.length}`;
    const { json } = await server.send(`${pathOf(server, webhook)}/dead-letters${query}`);
    const page = json as { readonly data: readonly DeadLetter[]; readonly meta: { readonly total: number } };
    found.push(...page.data);
    if (page.data.length === 0 || found.length >= page.meta.total) return found;
  }
}

function pathOf({ space: spaceId }: ApiClient, webhook?: string): string {
  const path = `/api/v2/spaces/${encodeURIComponent(spaceId)}/loyalty/webhooks`;
  return webhook === undefined ? path : `${path}/${encodeURIComponent(webhook)}`;
}

function rowOf({ id, attributes }: Webhook): string[] {
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

function wrong(message: string): CliError {
  return new CliError(exits.usage, message, { code: "wrong_usage" });
}
