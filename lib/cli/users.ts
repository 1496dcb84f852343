/** Commands about users, with an API key or the token of an admin. */

import type { ImportLineSchema as ImportLine } from "../fans/audience/imports/import_users.ts";
import type {
  BanSchema,
  DeletedUserSchema,
  FoundUsersSchema,
  MergeSchema,
  ProjectUserSchema,
  RevokedSchema,
  SessionsSchema,
} from "../fans/identity/operators/schema.ts";
import { createApiClient, organisationFlags, type SpaceClient, userFlags, withSpace } from "./api_client.ts";
import { instant, oneOf } from "./frame/checks.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CliContext, CliInput, CommandSpec } from "./frame/command.ts";
import { CliError, exits, missingFile, wrongUsage } from "./frame/errors.ts";
import { projectFlag, yesFlag } from "./frame/flags.ts";
import { type Fields, json, record, rows } from "./frame/output.ts";
import { isoTime } from "./frame/text.ts";

const reportedMax = 1_000;
/** Longest time of an import, in ms, beside that for its bytes; of one from stdin. */
const baseMs = 600_000;
const stdinMs = 86_400_000;
const bytesPerSecondMin = 20_000;

type Line = AnswerOf<typeof ImportLine>;
type Row = Exclude<Line, { readonly summary: unknown }>;

const mediaTypes = { csv: "text/csv", json: "application/json", jsonl: "application/x-ndjson" } as const;

const importCommand: CommandSpec = {
  words: ["users", "import"],
  summary:
    "Change or create the users of a file with the columns of an export; the same file again changes nothing",
  args: [{ name: "file", description: "CSV, JSON, or an object of JSON on every line; - for stdin" }],
  flags: {
    ...organisationFlags,
    ...userFlags,
    format: {
      value: "csv|json|jsonl",
      description: "The format of the file; otherwise by its name, jsonl for stdin",
      check: oneOf(...Object.keys(mediaTypes)),
    },
    "dry-run": {
      description: "Check all rows, list and count the users who would be created, and change nothing",
    },
  },
  changes: "names, preferences, custom fields and metrics of the users in the file",
  examples: [
    "users import users.csv",
    "users import users.csv --dry-run",
    "users import - --format csv < users.csv",
  ],
  output: rows({ row: "whole", userId: ["USER", "text?"], status: "text", error: ["REASON", "json"] }),
  exits: { [exits.failed]: "rows were not applied, or the import ended before the file did" },
  async run(input, context) {
    const [path = ""] = input.args;
    const { format = formatOf(path), "dry-run": dryRun } = input.flags;
    const file = await context.files.open(path);
    if (file === null) throw missingFile(path);
    const server = await createApiClient(input, context);
    let failed: Row[] = [];
    let last: Line | null = null;
    let sent = 0;
    const trial = dryRun === undefined ? "" : "&dry_run=true";
    await server.send(withSpace(`/v1/api/audience/internal/users/import?results=failed${trial}`, server), {
      method: "POST",
      headers: { "content-type": mediaTypes[format as keyof typeof mediaTypes] },
      stream() {
        sent = 0;
        return watched(file.stream(), bytes => {
          sent += bytes;
          context.progress(progressText(sent, file.bytes));
        });
      },
      lines() {
        failed = [];
        return line => {
          last = line as Line;
          if ("row" in last && failed.length < reportedMax) failed.push(last);
        };
      },
      // Stdin is gone after the first attempt.
      isRepeatable: path !== "-",
      timeoutMs: file.bytes === null ? stdinMs : baseMs + (file.bytes / bytesPerSecondMin) * 1_000,
    });
    return resultOf(failed, last);
  },
};

function resultOf(failed: readonly Row[], last: Line | null) {
  if (last === null || !("summary" in last)) {
    throw new CliError(exits.unavailable, "The import broke off: its answer has no summary", {
      code: "incomplete",
      hint: "Send the same file again: rows that were applied change nothing",
    });
  }
  const { summary, error } = last;
  const { total, changed, unchanged, failed: failures, unknown, new: created, known = 0 } = summary;
  const hidden = failures + unknown + (created ?? 0) - failed.length;
  const counted =
    created === undefined
      ? `${changed} changed, ${unchanged} unchanged`
      : `${created} of users who would be created, ${known} of known ones`;
  return {
    data: failed.map(({ row, userId = null, status, error: reason = null }) => ({
      row,
      userId,
      status,
      error: reason,
    })),
    meta: { summary, error: error ?? null, truncated: hidden > 0 },
    notes: [
      `${total} rows: ${counted}, ${failures} failed, ${unknown} unknown`,
      ...(hidden > 0
        ? [
            `${hidden} more ${created === undefined ? "were not applied" : "are not listed"}; mend these and send the file again`,
          ]
        : []),
      ...(error === undefined ? [] : [`The import ended before the file did: ${error.message}`]),
    ],
    exit: error === undefined && failures + unknown === 0 ? exits.ok : exits.failed,
  };
}

function formatOf(path: string): string {
  const [, extension = ""] = /\.(csv|json)$/i.exec(path) ?? [];
  return extension === "" ? "jsonl" : extension.toLowerCase();
}

function watched(
  stream: ReadableStream<Uint8Array>,
  count: (bytes: number) => void,
): ReadableStream<Uint8Array> {
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        count(chunk.length);
        controller.enqueue(chunk);
      },
    }),
  );
}

function progressText(sent: number, bytes: number | null): string {
  const mebibytes = (count: number): string => (count / 1_048_576).toFixed(1);
  return `Sent ${mebibytes(sent)}${bytes === null ? "" : ` of ${mebibytes(bytes)}`} MiB`;
}

const ofProject = { project: projectFlag, key: organisationFlags.key } as const;
const userArgument = [{ name: "user", description: "The id of the user" }] as const;

const userFields: Fields = {
  userId: ["USER", "text"],
  username: ["NAME", "text"],
  provider: "text",
  email: "text",
  isEmailVerified: [null, "flag"],
  signUp: ["SIGNED_UP", "time"],
  lastLogin: ["LAST_LOGIN", "time?"],
  ban: "json",
  mergedInto: ["MERGED_INTO", "text?"],
};

/** Opens the project of a command, and returns the path of its users and of the one that the command names. */
async function openProject(
  input: CliInput,
  context: CliContext,
): Promise<{ readonly server: SpaceClient; readonly users: string; readonly user: string }> {
  const { project = "" } = input.flags;
  const server = await createApiClient(input, context, { kind: "project", id: project.toLowerCase() });
  const users = `/internal/identity/projects/${encodeURIComponent(project)}/users`;
  return { server, users, user: `${users}/${encodeURIComponent(input.args[0] ?? "")}` };
}

function userRow({ signUp, lastLogin, ...user }: AnswerOf<typeof ProjectUserSchema>["data"]) {
  return { ...user, signUp: isoTime(signUp), lastLogin: isoTime(lastLogin) };
}

const findCommand: CommandSpec = {
  words: ["users", "find"],
  summary: "Find the user of a project who has an e-mail address",
  args: [{ name: "email", description: "The address in any spelling of its letters" }],
  flags: ofProject,
  examples: ["users find sam@example.com --project $PROJECT"],
  output: rows(userFields),
  async run(input, context) {
    const { server, users } = await openProject(input, context);
    const path = `${users}?email=${encodeURIComponent(input.args[0] ?? "")}`;
    const { json } = await server.send<typeof FoundUsersSchema>(path);
    return { data: json.data.users.map(userRow) };
  },
};

const showCommand: CommandSpec = {
  words: ["users", "show"],
  summary: "Show who a user of a project is, a ban, and into whom the user was merged",
  args: userArgument,
  flags: ofProject,
  examples: ["users show $USER_ID --project $PROJECT"],
  output: record(userFields),
  async run(input, context) {
    const { server, user } = await openProject(input, context);
    return { data: userRow((await server.send<typeof ProjectUserSchema>(user)).json.data) };
  },
};

const exportCommand: CommandSpec = {
  words: ["users", "export"],
  summary:
    "Print everything that is kept about a user, as one JSON document whose schema is UserData in /openapi.json",
  args: userArgument,
  flags: { ...organisationFlags, ...userFlags },
  examples: ["users export $USER_ID"],
  output: json,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const path = `/v1/api/audience/internal/users/${encodeURIComponent(input.args[0] ?? "")}/data`;
    return { data: (await server.send(withSpace(path, server), { timeoutMs: baseMs })).json };
  },
};

const sessionsCommand: CommandSpec = {
  words: ["users", "sessions"],
  summary: "List the live sessions of a user, or end them all",
  changes: "nothing; with --end it ends the sessions",
  args: userArgument,
  flags: { ...ofProject, end: { description: "End all of them instead; access tokens are refused at once" } },
  examples: [
    "users sessions $USER_ID --project $PROJECT",
    "users sessions $USER_ID --project $PROJECT --end",
  ],
  output: rows({
    sessionId: ["SESSION", "text"],
    deviceId: ["DEVICE", "text"],
    createdAt: ["CREATED", "time"],
    lastSeen: ["LAST_SEEN", "time"],
    expiresAt: [null, "time"],
    userAgent: ["BROWSER", "text"],
    addressTag: ["NETWORK", "text"],
  }),
  async run(input, context) {
    const { server, user } = await openProject(input, context);
    const path = `${user}/sessions`;
    if ("end" in input.flags) {
      const { json } = await server.send<typeof RevokedSchema>(path, { method: "DELETE" });
      return { data: [], notes: [`${json.data.revoked} sessions ended`] };
    }
    const { sessions } = (await server.send<typeof SessionsSchema>(path)).json.data;
    const data = sessions.map(({ createdAt, lastSeen, expiresAt, ...session }) => ({
      ...session,
      createdAt: isoTime(createdAt),
      lastSeen: isoTime(lastSeen),
      expiresAt: isoTime(expiresAt),
    }));
    return { data };
  },
};

const banCommand: CommandSpec = {
  words: ["users", "ban"],
  summary: "End the sessions of a user and refuse new ones, until a time or until the ban is lifted",
  args: userArgument,
  flags: {
    ...ofProject,
    reason: { value: "text", description: "Why, for those who look at the user later", required: true },
    until: { value: "time", description: "The end of the ban; otherwise until it is lifted", check: instant },
    yes: yesFlag,
  },
  changes: "bans the user and ends the sessions",
  examples: [
    "users ban $USER_ID --project $PROJECT --reason Spam --yes",
    "users ban $USER_ID --project $PROJECT --reason Spam --until 2030-02-01T00:00:00Z --yes",
  ],
  output: record({ userId: ["USER", "text"], reason: "text", until: "time?" }),
  async run(input, context) {
    const { server, user } = await openProject(input, context);
    const { reason, until } = input.flags;
    await context.confirm(`Ban the user ${input.args[0]} and end all sessions`);
    const body = { reason, ...(until === undefined ? {} : { until: Math.floor(Date.parse(until) / 1_000) }) };
    const { json } = await server.send<typeof BanSchema>(`${user}/ban`, { method: "PUT", body });
    return { data: { ...json.data, until: isoTime(json.data.until) } };
  },
};

const unbanCommand: CommandSpec = {
  words: ["users", "unban"],
  summary: "Lift the ban of a user",
  args: userArgument,
  flags: ofProject,
  changes: "lifts the ban",
  examples: ["users unban $USER_ID --project $PROJECT"],
  output: record({ userId: ["USER", "text"] }),
  async run(input, context) {
    const { server, user } = await openProject(input, context);
    await server.send(`${user}/ban`, { method: "DELETE" });
    return { data: { userId: input.args[0] }, notes: ["The user may sign in"] };
  },
};

const deleteCommand: CommandSpec = {
  words: ["users", "delete"],
  summary: "Delete a user with everything about it, and say what stays and why",
  args: userArgument,
  flags: { ...ofProject, yes: yesFlag },
  changes: "deletes the user in the project, and the loyalty in all projects of the organisation",
  examples: ["users delete $USER_ID --project $PROJECT --yes"],
  output: rows({ kind: "text", removal: "text", reason: "text", description: [null, "text"] }),
  async run(input, context) {
    const { server, user } = await openProject(input, context);
    await context.confirm(`Delete the user ${input.args[0]} with everything about it`);
    const { json } = await server.send<typeof DeletedUserSchema>(user, { method: "DELETE" });
    return {
      data: json.data.left,
      notes: ["The user is deleted. The table says what stays, if there was any"],
    };
  },
};

const mergeCommand: CommandSpec = {
  words: ["users", "merge"],
  summary: "Give all that a user has to another one, for ever; nobody can sign in as the first any more",
  args: userArgument,
  flags: {
    ...ofProject,
    into: { value: "id", description: "The user who stays" },
    "into-external-id": { value: "id", description: "The id of that user's account, in place of --into" },
    yes: yesFlag,
  },
  changes: "moves points, items, progress, votes and scores",
  examples: [
    "users merge $USER_ID --project $PROJECT --into $OTHER_ID --yes",
    "users merge $USER_ID --project $PROJECT --into-external-id fan-1966 --yes",
  ],
  output: record({ from: "text", into: "text" }),
  exits: { 7: "one of both is merged already, or nobody could sign in any more" },
  async run(input, context) {
    const { into, "into-external-id": intoExternalId } = input.flags;
    if ((into === undefined) === (intoExternalId === undefined))
      throw wrongUsage("users merge takes either --into or --into-external-id");
    const { server, user } = await openProject(input, context);
    await context.confirm(`Merge the user ${input.args[0]} into ${into ?? intoExternalId} for ever`);
    const body = into === undefined ? { intoExternalId } : { into };
    const { json } = await server.send<typeof MergeSchema>(`${user}/merge`, { method: "POST", body });
    return { data: json.data };
  },
};

export const commands: readonly CommandSpec[] = [
  findCommand,
  showCommand,
  exportCommand,
  sessionsCommand,
  banCommand,
  unbanCommand,
  deleteCommand,
  mergeCommand,
  importCommand,
];
