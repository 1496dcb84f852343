/**
 * Prints the output of commands: data to stdout, notes and errors to stderr.
 *
 * @module
 */

import type { CliError, CliResult, Rows } from "./command.ts";

/** Options of printing. */
export interface PrintOptions {
  /** One JSON document instead of text. */
  readonly json: boolean;
  /** True for aligned tables with a header, false for tab-separated values. */
  readonly isTerminal: boolean;
}

/** Text by stream. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Formats the output of a command. */
export function printedResult(result: CliResult, { json, isTerminal }: PrintOptions): Printed {
  const { data, shown = "", notes = [] } = result;
  const stderr = notes.map(note => `${clean(note)}\n`).join("");
  if (json) return { stdout: `${JSON.stringify({ data, meta: {} })}\n`, stderr: "" };
  return { stdout: typeof shown === "string" ? shown : table(shown, isTerminal), stderr };
}

/** Formats the failure of a command. */
export function printedError({ message, options }: CliError, { json }: Pick<PrintOptions, "json">): Printed {
  const { code, status, hint, details = [], requestId } = options;
  if (json) {
    const error = { code, status, message, hint, details, request_id: requestId };
    return { stdout: "", stderr: `${JSON.stringify({ error })}\n` };
  }
  const lines = [
    message,
    ...details.map(line => `  ${line}`),
    ...(hint === undefined ? [] : [`Hint: ${hint}.`]),
    ...(requestId === undefined ? [] : [`Request id: ${requestId}`]),
  ];
  return { stdout: "", stderr: lines.map(line => `${clean(line)}\n`).join("") };
}

function table({ columns, rows }: Rows, isTerminal: boolean): string {
  const cells = rows.map(row => row.map(clean));
  if (!isTerminal) return cells.map(row => `${row.join("\t")}\n`).join("");
  const all = [columns, ...cells];
  const widths = columns.map((_, index) => Math.max(...all.map(row => (row[index] ?? "").length)));
  return all
    .map(
      row =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Removes control characters, with which text of a server could control the terminal. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}
