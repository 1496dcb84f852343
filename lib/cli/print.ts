/**
 * What commands give back, as it is printed: data to stdout, everything that is said about it to stderr.
 *
 * @module
 */

import type { CliError, Result, Rows } from "./command.ts";

/** How things are printed. */
export interface PrintOptions {
  /** One JSON document instead of text. */
  readonly json: boolean;
  /** Whether people read stdout: tables are aligned and have a header then, and are tab-separated values otherwise. */
  readonly isTerminal: boolean;
}

/** What goes where. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Writes what a command gave back. */
export function printedResult(result: Result, { json, isTerminal }: PrintOptions): Printed {
  const { data, shown = "", notes = [] } = result;
  const stderr = notes.map(note => `${clean(note)}\n`).join("");
  if (json) return { stdout: `${JSON.stringify({ data, meta: {} })}\n`, stderr: "" };
  return { stdout: typeof shown === "string" ? shown : table(shown, isTerminal), stderr };
}

/** Writes why a command could not do what it was asked to. */
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

/** Text of a server must not steer the terminal that shows it. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}
