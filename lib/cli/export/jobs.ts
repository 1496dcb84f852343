/**
 * Commands about exports, over a server, with a key that may export users.
 *
 * @module
 */

import { type CliContext, CliError, type CommandInput, type CommandSpec } from "../command.ts";
import { exits } from "../exits.ts";
import { organisationFlag } from "../keys/organisation_flag.ts";
import { type Server, serverFlags, serverOf } from "../server.ts";

const { url, key } = serverFlags;
const common = { url, key, organisation: organisationFlag } as const;
const base = "/v1/api/audience/internal";

interface ShownExport {
  readonly exportId: string;
  readonly status: string;
  readonly format: string;
  readonly encrypted: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly progress?: { readonly processed: number; readonly total: number };
  readonly rowCount?: number | null;
  readonly downloadUrl?: string;
  readonly password?: string;
  readonly error?: { readonly code: string; readonly message: string } | null;
}

/** `export create`. */
export const createExportCommand: CommandSpec = {
  words: ["export", "create"],
  summary: "Ask for an export of users, encrypted unless said otherwise",
  args: [],
  flags: {
    ...common,
    format: { value: "csv|json", description: "The format of the file", required: true },
    filter: { value: "path", description: "JSON or YAML file with a condition; otherwise all users" },
    field: { value: "name", description: "A column; may be repeated", repeated: true },
    plain: { description: "Do not encrypt the file" },
    notify: { value: "address", description: "Who is mailed the link and the password" },
  },
  async run(input, context) {
    const { server, headers } = opened(input, context);
    const { flags, lists } = input;
    const body = {
      format: flags.format,
      encrypt: !("plain" in flags),
      ...(flags.filter === undefined ? {} : { filter: await filterOf(flags.filter, context) }),
      ...(lists.field === undefined ? {} : { fields: lists.field }),
      ...(flags.notify === undefined ? {} : { notify: { email: flags.notify } }),
    };
    // Another attempt could begin another export.
    const ask = { method: "POST", body, headers, isRepeatable: false };
    const { json } = await server.ask(`${base}/users/export`, ask);
    const { data } = json as { readonly data: ShownExport };
    return { data, shown: `${data.exportId}\n`, notes: [`Look at it with: export show ${data.exportId}`] };
  },
};

/** `export list`. */
export const listExportsCommand: CommandSpec = {
  words: ["export", "list"],
  summary: "List the exports of an organisation, newest first",
  args: [],
  flags: common,
  async run(input, context) {
    const { server, headers } = opened(input, context);
    const found: ShownExport[] = [];
    let after: string | null = null;
    do {
      const query: string = after === null ? "" : `&lastEvaluatedKey=${encodeURIComponent(after)}`;
      const { json } = await server.ask(`${base}/exports?limit=100${query}`, { headers });
      const page = json as {
        readonly data: readonly ShownExport[];
        readonly lastEvaluatedKey: string | null;
      };
      found.push(...page.data);
      after = page.lastEvaluatedKey;
    } while (after !== null);
    const rows = found.map(one => [one.exportId, one.status, one.format, usersOf(one), one.createdAt]);
    const columns = ["EXPORT", "STATUS", "FORMAT", "USERS", "CREATED"];
    return { data: found, shown: { columns, rows } };
  },
};

/** `export show`. */
export const showExportCommand: CommandSpec = {
  words: ["export", "show"],
  summary: "Show an export: how far it is, and once it is completed a link of 15 minutes and the password",
  args: [{ name: "export", description: "The id of the export" }],
  flags: common,
  async run(input, context) {
    const { server, headers } = opened(input, context);
    const [id = ""] = input.args;
    const { json } = await server.ask(`${base}/exports/${encodeURIComponent(id)}`, { headers });
    const { data } = json as { readonly data: ShownExport };
    const { status, downloadUrl, password, error = null } = data;
    const lines = [
      ["status", status],
      ["users", usersOf(data)],
      ["expires", data.expiresAt],
      ...(downloadUrl === undefined ? [] : [["link", downloadUrl]]),
      ...(password === undefined ? [] : [["password", password]]),
      ...(error === null ? [] : [["reason", `${error.code}: ${error.message}`]]),
    ];
    const shown = lines.map(([name = "", value = ""]) => `${name.padEnd(10)}${value}\n`).join("");
    return { data, shown, exit: status === "failed" ? exits.failed : exits.ok };
  },
};

function usersOf({ rowCount, progress }: ShownExport): string {
  if (typeof rowCount === "number") return String(rowCount);
  return progress === undefined ? "" : `${progress.processed} of ${progress.total}`;
}

function opened(
  input: CommandInput,
  context: CliContext,
): { readonly server: Server; readonly headers: Readonly<Record<string, string>> } {
  const headers = { "x-platform-org-id": input.flags.organisation ?? "" };
  return { server: serverOf(input, context), headers };
}

async function filterOf(path: string, { files }: CliContext): Promise<unknown> {
  const file = await files.read(path);
  if (file !== null) return file.document;
  throw new CliError(exits.usage, `--filter names no file: ${path}`, { code: "wrong_usage" });
}
