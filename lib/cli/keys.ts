/** Commands about the API keys of an organisation. All but `keys bootstrap` need a key that may manage keys. */

import type { ApiKeysAnswer, IssuedApiKeyAnswer } from "../auth/api_keys/routes.ts";
import type { IssuedApiKey } from "../auth/mod.ts";
import { createApiClient, organisationFlags } from "./api_client.ts";
import { type AnswerOf, type ApiAnswer, type ApiClient, dataOf } from "./frame/client.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "./frame/command.ts";
import { wrongUsage } from "./frame/errors.ts";
import { type Fields, record, rows } from "./frame/output.ts";
import { storeFlags } from "./store.ts";

const bootstrapNameDefault = "Bootstrap";
/** Default time for which an old secret works after a rotation, in seconds: a day. */
const graceSecondsDefault = 86_400;

type NewKey = Pick<IssuedApiKey, "key" | "secret" | "permissions">;

const newKey: Fields = { key: "text", secret: "text", permissions: "texts" };
const keyArgument = { name: "key", description: "The id of the key, gsk_…" } as const;

const bootstrapCommand: CommandSpec = {
  words: ["keys", "bootstrap"],
  summary:
    "Create the first API key of an organisation, with every permission, in the store; GRANDSTAND_SECRET is that of the server",
  changes: "creates an API key in the store",
  examples: [
    "keys bootstrap --redis redis://127.0.0.1:6379 --org $ORG",
    "keys bootstrap --data $DATA --org $ORG --name CRM",
  ],
  requests: 0,
  output: record(newKey),
  flags: {
    ...storeFlags,
    org: organisationFlags.org,
    name: { value: "text", description: `Purpose of the key; otherwise ${bootstrapNameDefault}` },
    force: {
      description: "Create it even if the organisation has keys, for example if all secrets are lost",
    },
  },
  async run({ flags }, context) {
    const { org: organisationId = "", name = bootstrapNameDefault } = flags;
    return secretResult(await context.bootstrapKey(flags, organisationId, name, "force" in flags));
  },
};

const createCommand: CommandSpec = {
  words: ["keys", "create"],
  summary: "Create an API key with at most the permissions of the calling key",
  changes: "creates an API key",
  examples: [
    "keys create --name CRM --permission users:read",
    "keys create --name Loyalty --permission config:read --permission config:write",
  ],
  output: record(newKey),
  flags: {
    ...organisationFlags,
    name: { value: "text", description: "Purpose of the key", required: true },
    permission: { value: "name", description: "A permission; may be repeated", repeated: true },
  },
  async run(input, context) {
    const { name = "" } = input.flags;
    const { permission: permissions = [] } = input.lists;
    if (permissions.length === 0) throw wrongUsage("keys create needs --permission at least once");
    const { server, path } = await openKeys(input, context);
    const answer = await server.send<typeof IssuedApiKeyAnswer>(path, {
      method: "POST",
      body: { data: { type: "api_keys", attributes: { name, permissions } } },
      // A second attempt could create another key, whose secret would be lost.
      isRepeatable: false,
    });
    return secretResult(newKeyOf(answer));
  },
};

const listCommand: CommandSpec = {
  words: ["keys", "list"],
  summary: "List the API keys of an organisation, oldest first",
  examples: ["keys list"],
  output: rows({
    id: ["KEY", "text"],
    name: "text",
    permissions: "texts",
    created_at: [null, "whole"],
    created_at_iso: ["CREATED", "time"],
    last_used_at: [null, "whole?"],
    last_used_at_iso: ["LAST_USED", "time?"],
    secrets: [null, "json"],
  }),
  flags: organisationFlags,
  async run(input, context) {
    const { server, path } = await openKeys(input, context);
    const { json } = await server.send<typeof ApiKeysAnswer>(path);
    return { data: json.data.map(({ id, attributes }) => ({ id, ...attributes })) };
  },
};

const rotateCommand: CommandSpec = {
  words: ["keys", "rotate"],
  summary: "Give an API key a new secret; the old one works for a while",
  changes: "adds a secret to the key; older ones end after --grace",
  examples: ["keys rotate $KEY", "keys rotate $KEY --grace 3600"],
  output: record(newKey),
  args: [keyArgument],
  flags: {
    ...organisationFlags,
    grace: {
      value: "seconds",
      description: `Time for which the old secret works; otherwise ${graceSecondsDefault}`,
    },
  },
  async run(input, context) {
    const [id = ""] = input.args;
    const { grace = String(graceSecondsDefault) } = input.flags;
    if (!/^\d{1,9}$/.test(grace)) throw wrongUsage(`--grace must be a number of seconds, not "${grace}"`);
    const { server, path } = await openKeys(input, context);
    const answer = await server.send<typeof IssuedApiKeyAnswer>(`${path}/${encodeURIComponent(id)}/rotate`, {
      method: "POST",
      body: { grace_seconds: Number(grace) },
      // The oldest of three secrets ends at once: a second attempt would end the one in use.
      isRepeatable: false,
    });
    return secretResult(newKeyOf(answer), `The old secret works for another ${grace} s`);
  },
};

const revokeCommand: CommandSpec = {
  words: ["keys", "revoke"],
  summary: "Revoke an API key",
  changes: "ends the key with all its secrets",
  examples: ["keys revoke $KEY"],
  output: record({ id: ["KEY", "text"] }),
  args: [keyArgument],
  flags: organisationFlags,
  async run(input, context) {
    const [id = ""] = input.args;
    const { server, path } = await openKeys(input, context);
    await server.send(`${path}/${encodeURIComponent(id)}`, { method: "DELETE", isRepeatable: false });
    return { data: { id }, notes: [`${id} is revoked; servers may accept it for a few more seconds`] };
  },
};

async function openKeys(
  input: CliInput,
  context: CliContext,
): Promise<{ readonly server: ApiClient; readonly path: string }> {
  const { org: organisation = "" } = input.flags;
  const path = `/api/v2/organisations/${encodeURIComponent(organisation)}/api_keys`;
  return { server: await createApiClient(input, context), path };
}

function newKeyOf(answer: ApiAnswer<AnswerOf<typeof IssuedApiKeyAnswer>>): NewKey {
  const { id, attributes } = dataOf(answer, "attributes");
  return { key: id, secret: attributes.secret, permissions: attributes.permissions };
}

function secretResult({ key, secret, permissions }: NewKey, ...notes: readonly string[]): CliResult {
  return {
    data: { key, secret, permissions },
    shown: `GRANDSTAND_API_KEY=${key}\nGRANDSTAND_API_SECRET=${secret}\n`,
    notes: [
      ...notes,
      "The secret is shown only once: store it where only the back end that uses it can read it",
    ],
  };
}

export const commands: readonly CommandSpec[] = [
  bootstrapCommand,
  createCommand,
  listCommand,
  rotateCommand,
  revokeCommand,
];
