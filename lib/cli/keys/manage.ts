/**
 * Commands about the API keys of an organisation, over its server, with a key that may manage keys.
 *
 * @module
 */

import { type CliContext, CliError, type CommandInput, type CommandSpec, type NewKey } from "../command.ts";
import { exits } from "../exits.ts";
import { type Server, serverFlags, serverOf, type Told } from "../server.ts";
import { organisationFlag } from "./organisation_flag.ts";
import { secretResult } from "./secret_result.ts";

/** How long an old secret works after a rotation where nothing is said, in seconds: a day. */
export const graceSecondsDefault = 86_400;

const { url, key } = serverFlags;
const common = {
  url,
  key,
  organisation: organisationFlag,
} as const;
const keyArgument = { name: "key", description: "The id of the key, gsk_…" } as const;

interface Listed {
  readonly data: readonly {
    readonly id: string;
    readonly attributes: {
      readonly name: string;
      readonly permissions: readonly string[];
      readonly created_at_iso: string;
      readonly last_used_at_iso: string | null;
      readonly secrets: readonly unknown[];
    };
  }[];
}

/** `keys create`. */
export const createCommand: CommandSpec = {
  words: ["keys", "create"],
  summary: "Create an API key, which may do no more than the own one",
  args: [],
  flags: {
    ...common,
    name: { value: "text", description: "What the key is for", required: true },
    permission: { value: "name", description: "What it may do; may be repeated", repeated: true },
  },
  async run(input, context) {
    const { name = "" } = input.flags;
    const { permission: permissions = [] } = input.lists;
    if (permissions.length === 0) {
      throw new CliError(exits.usage, "keys create needs --permission at least once", {
        code: "wrong_usage",
      });
    }
    const { server, path } = opened(input, context);
    const told = await server.ask(path, {
      method: "POST",
      body: { data: { type: "api_keys", attributes: { name, permissions } } },
      // Another attempt could make another key, of which nobody would know the secret.
      isRepeatable: false,
    });
    return secretResult(newKeyOf(told));
  },
};

/** `keys list`. */
export const listCommand: CommandSpec = {
  words: ["keys", "list"],
  summary: "List the API keys of an organisation, oldest first",
  args: [],
  flags: common,
  async run(input, context) {
    const { server, path } = opened(input, context);
    const { json } = await server.ask(path);
    const keys = (json as Listed).data.map(({ id, attributes }) => ({ id, ...attributes }));
    const rows = keys.map(({ id, name, permissions, created_at_iso, last_used_at_iso, secrets }) => [
      id,
      name,
      permissions.join(","),
      created_at_iso,
      last_used_at_iso ?? "never",
      String(secrets.length),
    ]);
    const columns = ["KEY", "NAME", "PERMISSIONS", "CREATED", "LAST_USED", "SECRETS"];
    return { data: keys, shown: { columns, rows } };
  },
};

/** `keys rotate`. */
export const rotateCommand: CommandSpec = {
  words: ["keys", "rotate"],
  summary: "Give an API key a new secret, beside which the old one works for a while",
  args: [keyArgument],
  flags: {
    ...common,
    grace: {
      value: "seconds",
      description: `How long the old secret still works; otherwise ${graceSecondsDefault}`,
    },
  },
  async run(input, context) {
    const [id = ""] = input.args;
    const { grace = String(graceSecondsDefault) } = input.flags;
    if (!/^\d{1,9}$/.test(grace)) {
      throw new CliError(exits.usage, `--grace must be a number of seconds, not "${grace}"`, {
        code: "wrong_usage",
      });
    }
    const { server, path } = opened(input, context);
    const told = await server.ask(`${path}/${encodeURIComponent(id)}/rotate`, {
      method: "POST",
      body: { grace_seconds: Number(grace) },
      // Of three secrets the oldest ends at once: another attempt would end the one that is in use.
      isRepeatable: false,
    });
    return secretResult(newKeyOf(told), `The secret before it works for another ${grace} s`);
  },
};

/** `keys revoke`. */
export const revokeCommand: CommandSpec = {
  words: ["keys", "revoke"],
  summary: "End an API key for good",
  args: [keyArgument],
  flags: common,
  async run(input, context) {
    const [id = ""] = input.args;
    const { server, path } = opened(input, context);
    await server.ask(`${path}/${encodeURIComponent(id)}`, { method: "DELETE", isRepeatable: false });
    return { data: { id }, notes: [`${id} works no more; servers may take it for a few seconds yet`] };
  },
};

function opened(
  input: CommandInput,
  context: CliContext,
): { readonly server: Server; readonly path: string } {
  const { organisation = "" } = input.flags;
  const path = `/api/v2/organisations/${encodeURIComponent(organisation)}/api_keys`;
  return { server: serverOf(input, context), path };
}

function newKeyOf({ json }: Told): NewKey {
  const { data } = json as {
    readonly data?: {
      readonly id: string;
      readonly attributes: { readonly secret: string; readonly permissions: readonly string[] };
    };
  };
  if (data === undefined) {
    throw new CliError(exits.failed, "The server answered something that is no API key", {
      code: "wrong_answer",
    });
  }
  return { key: data.id, secret: data.attributes.secret, permissions: data.attributes.permissions };
}
