import type { ImportLineSchema as ImportLine } from "../fans/audience/imports/import_users.ts";
import { createApiClient, organisationFlags, userFlags, withSpace } from "./api_client.ts";
import { oneOf } from "./frame/checks.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CommandSpec } from "./frame/command.ts";
import { CliError, exits, missingFile } from "./frame/errors.ts";
import { rows } from "./frame/output.ts";

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

export const commands: readonly CommandSpec[] = [importCommand];
