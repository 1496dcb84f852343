/** Runs a command line: parses it, fills in variables and the profile, runs the command and prints what it returns. */

import { AppError } from "../../base/errors/mod.ts";
import { interrupted } from "./client.ts";
import type { CliContext, CliInput, CliResult, CommandGroup, CommandSpec } from "./command.ts";
import type { ControlApi } from "./control_api.ts";
import { CliError, exits, wrongUsage } from "./errors.ts";
import { commandHelp, groupHelp, toolHelp } from "./help.ts";
import type { CliHost } from "./host.ts";
import { type Output, type Rows, shownAs } from "./output.ts";
import { parseCommandLine } from "./parse.ts";
import { firstGiven, given, readSettings, type Settings } from "./profile.ts";
import { clean, cleanJson } from "./text.ts";

/** Runs a command line and returns its exit code. It never rejects. */
export async function runCommandLine(
  args: readonly string[],
  host: CliHost,
  groups: readonly CommandGroup[],
): Promise<number> {
  const steps: string[] = [];
  try {
    return await run(args, host, groups, steps);
  } catch (error) {
    const failure = asCliError(error);
    const isJson = args.includes("--json");
    const done = steps.map(step => `Done already: ${clean(step)}\n`).join("");
    host.terminal.warn((isJson ? "" : done) + printedError(withSteps(failure, steps), isJson));
    return failure.exit;
  }
}

async function run(
  args: readonly string[],
  host: CliHost,
  groups: readonly CommandGroup[],
  steps: string[],
): Promise<number> {
  const { command, siblings, input, globals } = await parseCommandLine(args, groups);
  if ("version" in globals) {
    const { version } = await import("../../platform/version.ts");
    await host.terminal.print(`${version}\n`);
    return exits.ok;
  }
  if (command === null || "help" in globals) {
    const text =
      command !== null
        ? commandHelp(command)
        : siblings.length > 0
          ? groupHelp(siblings)
          : await toolHelp(groups);
    await host.terminal.print(text);
    return exits.ok;
  }
  const settings = await readSettings(globals, { ...command, hasConsent: "yes" in input.flags }, host);
  const filled = fillIn(command, input, host, settings);
  const context = contextOf({ args, host, groups, settings, steps });
  const result = await command.run(filled, context);
  const { isJson, hasColors } = settings;
  const { width, isTerminal } = host.terminal;
  const options = { isJson, isTerminal: isTerminal.stdout, hasColors, width, now: host.clock() };
  await host.terminal.print(printedResult(result, command.output, options));
  for (const text of result.notes ?? []) context.note(text);
  return result.exit ?? exits.ok;
}

/** Fills in flags. @throws {CliError} A required one is missing, or the value of a variable is wrong. */
function fillIn(command: CommandSpec, input: CliInput, host: CliHost, settings: Settings): CliInput {
  const { profile, profileName, isVerbose } = settings;
  const flags: Record<string, string> = {};
  for (const [name, spec] of Object.entries(command.flags ?? {})) {
    if (spec.repeated === true) {
      if (spec.required === true && input.lists[name] === undefined) throw missing(command, name);
      continue;
    }
    const found = firstGiven([
      [input.flags[name], "the command line"],
      [given(host.variables[spec.variable ?? ""]), spec.variable ?? ""],
      [spec.profile && given(profile[spec.profile]), `profile ${profileName}`],
      [spec.otherwise, "default"],
    ]);
    if (found === null) {
      if (spec.required === true) throw missing(command, name);
      continue;
    }
    const fault = name in input.flags ? null : (spec.check?.(found.value) ?? null);
    if (fault !== null) throw wrongUsage(`--${name} ${fault} (from ${found.source})`);
    if (isVerbose) host.terminal.warn(`--${name} ${clean(found.value)} (${found.source})\n`);
    flags[name] = found.value;
  }
  return { ...input, flags };
}

function missing({ words, flags }: CommandSpec, name: string): CliError {
  const { variable, profile } = flags?.[name] ?? {};
  const others = [variable, profile && `"${profile}" of the profile`].filter(each => each !== undefined);
  const next = profile && `grandstand config set ${profile} <id>`;
  return wrongUsage(`${words.join(" ")} needs --${[name, ...others].join(" or ")}`, { next });
}

interface Around {
  readonly args: readonly string[];
  readonly host: CliHost;
  readonly groups: readonly CommandGroup[];
  readonly settings: Settings;
  readonly steps: string[];
}

const progressDelayMs = 300;
const progressLineMs = 10_000;

function contextOf({ args, host, groups, settings, steps }: Around): CliContext {
  const { terminal, clock } = host;
  let api: Promise<ControlApi> | null = null;
  let nextAt = clock() + progressDelayMs;
  const note = (text: string): void => {
    if (!settings.isQuiet && !settings.isJson) terminal.warn(`${clean(text)}\n`);
  };
  const context: CliContext = {
    ...host,
    settings,
    groups,
    note,
    api: () => {
      api ??= import("./control_api.ts").then(({ ControlApi }) => ControlApi.open(context));
      return api;
    },
    done: step => void steps.push(step),
    progress(text) {
      if (settings.isQuiet || settings.isJson || host.interruption().aborted) return;
      const now = clock();
      if (now < nextAt) return;
      const isDumb = host.variables.TERM === "dumb";
      if (terminal.isTerminal.stderr && !isDumb) return terminal.status(clean(text));
      nextAt = now + progressLineMs;
      terminal.warn(`${clean(text)}\n`);
    },
    async confirm(question) {
      if (settings.hasConsent) return;
      if (!settings.isInteractive) {
        throw wrongUsage(`${question}: nobody can be asked here`, {
          code: "consent_missing",
          hint: "Give --yes to agree",
          next: ["grandstand", ...args.map(quoted), "--yes"].join(" "),
        });
      }
      const answer = await terminal.ask(`${clean(question)} [y/N] `);
      if (host.interruption().aborted) throw interrupted();
      if (/^y(es)?$/i.test(answer?.trim() ?? "")) return;
      throw new CliError(exits.declined, "Declined: nothing was changed", { code: "declined" });
    },
  };
  return context;
}

function quoted(argument: string): string {
  return /^[\w./:=@,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const code = error instanceof AppError ? error.code : "failed";
  return new CliError(exits.failed, error instanceof Error ? error.message : String(error), { code });
}

function withSteps(error: CliError, steps: readonly string[]): CliError {
  if (steps.length === 0) return error;
  const details = [...(error.options.details ?? []), ...steps.map(step => `done already: ${step}`)];
  return new CliError(error.exit, error.message, { ...error.options, details });
}

export interface PrintOptions {
  readonly isJson: boolean;
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
  readonly width: number;
  /** Unix ms. */
  readonly now: number;
}

export function printedResult(result: CliResult, output: Output, options: PrintOptions): string {
  const { data, meta = {} } = result;
  if (options.isJson) return `${cleanJson({ data, meta })}\n`;
  const shown = result.shown ?? shownAs(output, data, options.isTerminal ? options.now : null);
  return typeof shown === "string" ? shown : table(shown, options);
}

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
    hint !== null && `Hint: ${hint}.`,
    next !== null && `Next: ${next}`,
    requestId !== null && `Request id: ${requestId}`,
  ];
  return lines.flatMap(line => (line === false ? [] : `${clean(line)}\n`)).join("");
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
