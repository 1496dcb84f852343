/** Commands about exports, with a key that may export users. */

import type { AcceptedAnswer, ExportAnswer, ExportPageAnswer } from "../fans/exports/http/export_schemas.ts";
import { createApiClient, organisationFlags, userFlags, withSpace } from "./api_client.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CliContext, CommandSpec } from "./frame/command.ts";
import { exits, wrongUsage } from "./frame/errors.ts";
import { type Fields, json, record, rows } from "./frame/output.ts";

const encryptedSuffix = ".enc";
const base = "/v1/api/audience/internal";

const exportFlags = { ...organisationFlags, ...userFlags } as const;
const exportFields: Fields = {
  exportId: ["EXPORT", "text"],
  status: "text",
  format: "text",
  encrypted: [null, "flag"],
  createdAt: ["CREATED", "time"],
  expiresAt: [null, "time"],
  progress: [null, "json"],
  rowCount: ["USERS", "whole?"],
  fileSize: [null, "whole?"],
  sha256: [null, "text?"],
  completedAt: [null, "time?"],
  encryption: [null, "json"],
  error: [null, "json"],
};

type ShownExport = AnswerOf<typeof ExportAnswer>["data"];

const createExportCommand: CommandSpec = {
  words: ["exports", "create"],
  summary: "Request an export of users",
  changes: "starts an export",
  examples: [
    "exports create --format csv",
    "exports create --format json --filter filter.yaml --field userId --field displayName",
  ],
  output: record({
    exportId: ["EXPORT", "text"],
    status: [null, "text"],
    format: [null, "text"],
    encrypted: [null, "flag"],
    createdAt: [null, "time"],
    expiresAt: [null, "time"],
  }),
  flags: {
    ...exportFlags,
    format: { value: "csv|json", description: "The format of the file", required: true },
    filter: { value: "path", description: "JSON or YAML file with a condition; otherwise all users" },
    field: { value: "name", description: "A column; may be repeated", repeated: true },
    plain: { description: "Do not encrypt the file" },
    notify: { value: "address", description: "Address that receives the link and the password by mail" },
  },
  async run(input, context) {
    const server = await createApiClient(input, context);
    const { flags, lists } = input;
    const body = {
      format: flags.format,
      encrypt: !("plain" in flags),
      filter: flags.filter && (await filterOf(flags.filter, context)),
      fields: lists.field,
      notify: flags.notify && { email: flags.notify },
    };
    // A second attempt could start another export.
    const request = { method: "POST", body, isRepeatable: false };
    const { json } = await server.send<typeof AcceptedAnswer>(
      withSpace(`${base}/users/export`, server),
      request,
    );
    const { data } = json;
    return { data, shown: `${data.exportId}\n`, notes: [`Follow it with: exports show ${data.exportId}`] };
  },
};

const listExportsCommand: CommandSpec = {
  words: ["exports", "list"],
  summary: "List the exports of an organisation, newest first",
  examples: ["exports list"],
  output: rows(exportFields),
  flags: exportFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const found: ShownExport[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&lastEvaluatedKey=${encodeURIComponent(cursor)}`;
      const path = withSpace(`${base}/exports?limit=100${query}`, server);
      const page: AnswerOf<typeof ExportPageAnswer> = (await server.send<typeof ExportPageAnswer>(path)).json;
      found.push(...page.data);
      cursor = page.lastEvaluatedKey;
    } while (cursor !== null);
    return { data: found };
  },
};

const showExportCommand: CommandSpec = {
  words: ["exports", "show"],
  summary:
    "Show an export with its progress and, once completed, a link valid for 15 minutes and the password",
  examples: ["exports show $EXPORT", "exports show $EXPORT --json"],
  output: json,
  exits: { [exits.failed]: "the export failed" },
  args: [{ name: "export", description: "The id of the export" }],
  flags: exportFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const [id = ""] = input.args;
    const path = withSpace(`${base}/exports/${encodeURIComponent(id)}`, server);
    const { data } = (await server.send<typeof ExportAnswer>(path)).json;
    const { status, downloadUrl, password, error } = data;
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

const decryptCommand: CommandSpec = {
  words: ["export", "decrypt"],
  isOurs: true,
  summary:
    "Verify and decrypt an export; the password is GRANDSTAND_EXPORT_PASSWORD, the first line of stdin, or typed",
  changes: "writes the decrypted file",
  examples: ["export decrypt users.csv.enc", "export decrypt users.csv.enc --out users.csv --force"],
  requests: 0,
  output: record({ file: "text", bytes: "whole" }),
  exits: {
    [exits.conflict]: "the file to write exists",
    [exits.invalid]: "the password is wrong, or the file was changed",
  },
  args: [{ name: "file", description: "the encrypted export" }],
  flags: {
    out: {
      value: "path",
      description: `The file to write; otherwise the name without its ${encryptedSuffix}`,
    },
    force: { description: "Replace an existing file" },
  },
  async run({ args: [file = ""], flags }, context) {
    const out = flags.out ?? withoutSuffix(file);
    const bytes = await context.decryptExport(file, out, "force" in flags);
    return { data: { file: out, bytes }, notes: [`Verified and wrote ${bytes} bytes to ${out}.`] };
  },
};

function usersOf({ rowCount, progress }: ShownExport): string {
  return rowCount === null ? `${progress.processed} of ${progress.total}` : String(rowCount);
}

async function filterOf(path: string, { files }: CliContext): Promise<unknown> {
  const file = await files.read(path);
  if (file !== null) return file.document;
  throw wrongUsage(`--filter names no file: ${path}`);
}

/** Derives the name of the plaintext. @throws {CliError} The name has no suffix to remove. */
function withoutSuffix(file: string): string {
  const name = file.slice(0, -encryptedSuffix.length);
  if (file.endsWith(encryptedSuffix) && !/(^|\/)$/.test(name)) return name;
  throw wrongUsage(`--out must name the file to write, as ${file} does not end in ${encryptedSuffix}`);
}

export const commands: readonly CommandSpec[] = [
  createExportCommand,
  listExportsCommand,
  showExportCommand,
  decryptCommand,
];
