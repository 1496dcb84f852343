/**
 * Prints the output of commands: data to stdout, notes and errors to stderr.
 *
 * @module
 */

import { clean, cleanJson } from "./clean.ts";
import type { CliResult } from "./command.ts";
import { type CliError, exits } from "./errors.ts";
import { type Output, type Rows, shownAs } from "./output.ts";

export interface PrintOptions {
  /** One JSON document instead of text. */
  readonly isJson: boolean;
  /** True for aligned tables with a header, false for tab-separated values. */
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  /** Characters in a line of the terminal. */
  readonly width: number;
  /** Unix ms. */
  readonly now: number;
}

/** Formats the data of a command for stdout. */
export function printedResult(result: CliResult, output: Output, options: PrintOptions): string {
  const { data, meta = {} } = result;
  if (options.isJson) return `${cleanJson({ data, meta })}\n`;
  const shown = result.shown ?? shownAs(output, data, options.isTerminal ? options.now : null);
  return typeof shown === "string" ? shown : table(shown, options);
}

/** Formats the failure of a command for stderr. */
export function printedError({ exit, message, options }: CliError, isJson: boolean): string {
  const { code, status = null, hint = null, next = null, details = [], requestId = null } = options;
  if (isJson) {
    const retryable = exit === exits.unavailable;
    const error = { code, status, message, hint, next, retryable, details, request_id: requestId };
    return `${cleanJson({ error })}\n`;
  }
  const [only = "", ...others] = details;
  // One fault with its place says the message again.
  const isRepeated = others.length === 0 && only.endsWith(`: ${message}`);
  const lines = [
    ...(isRepeated ? [only] : [message, ...details.map(line => `  ${line}`)]),
    ...(hint === null ? [] : [`Hint: ${hint}.`]),
    ...(next === null ? [] : [`Next: ${next}`]),
    ...(requestId === null ? [] : [`Request id: ${requestId}`]),
  ];
  return lines.map(line => `${clean(line)}\n`).join("");
}

/** Shortest widths to which columns are cut: of texts at first and in the end, and of ids beside the first one. */
const cellWidthsMin = [12, 4];
const idWidthMin = 9;
const gap = 2;

function table({ columns, rows }: Rows, { isTerminal, hasColors, width }: PrintOptions): string {
  const cells = rows.map(row => row.map(clean));
  if (!isTerminal) return cells.map(row => `${row.join("\t")}\n`).join("");
  const all = [columns, ...cells];
  const widths = fitted(
    columns.map((name, index) => wholeName.test(name) || cells.some(row => wholeCell.test(row[index] ?? ""))),
    columns.map((_, index) => Math.max(...all.map(row => widthOf(row[index] ?? "")))),
    width,
  );
  const line = (row: readonly string[]): string =>
    widths
      .map((size, index) => padded(row[index] ?? "", size))
      .join(" ".repeat(gap))
      .trimEnd();
  const [header = "", ...others] = all.map(line);
  return [hasColors ? `\u001b[1m${header}\u001b[0m` : header, ...others].map(text => `${text}\n`).join("");
}

/** Columns of ids and addresses, and those with ids, digests and addresses, are cut last. */
const wholeName = /(^|_)ID$|URL/;
const wholeCell = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^(sha256|https?):/;

/**
 * Narrows columns until a row fits into a line. The last column is the least important one; the first of those that hold ids is whole
 * however narrow the terminal is.
 */
function fitted(areWhole: readonly boolean[], natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  const firstWhole = areWhole.indexOf(true);
  const columns = [...widths.keys()].reverse();
  const narrow = (areCut: boolean, least: number): void => {
    for (const index of columns.filter(each => areWhole[each] === areCut && each !== firstWhole)) {
      const tooWide = widths.reduce((sum, size) => sum + size + gap, -gap) - width;
      const own = widths[index] ?? 0;
      if (tooWide > 0 && own > least) widths[index] = Math.max(least, own - tooWide);
    }
  };
  for (const least of cellWidthsMin) narrow(false, least);
  narrow(true, idWidthMin);
  return widths;
}

/** Characters that take two cells of a terminal. */
const wide = /\p{Emoji_Presentation}|\p{sc=Han}|\p{sc=Hiragana}|\p{sc=Katakana}|\p{sc=Hangul}/u;

/** What people see as characters. */
const charactersOf = (text: string): readonly string[] =>
  [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const segment of charactersOf(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

function padded(text: string, width: number): string {
  const own = widthOf(text);
  if (own <= width) return text + " ".repeat(width - own);
  let cut = "";
  let left = width - 1;
  for (const segment of charactersOf(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    cut += segment;
  }
  return `${cut}…${" ".repeat(width - 1 - widthOf(cut))}`;
}
