/**
 * Commands as data: one table parses, checks, runs, documents and completes them. A command returns its output and never
 * writes to the terminal.
 */

import type { Check } from "./checks.ts";
import type { ClientContext } from "./client.ts";
import type { ControlApi } from "./control_api.ts";
import type { Exit } from "./errors.ts";
import type { Output, Rows } from "./output.ts";

export interface FlagSpec {
  /** Form of the value. Omitted: the flag has none. */
  readonly value?: string;
  readonly description: string;
  readonly variable?: string;
  /** The setting of the profile that replaces flag and variable. */
  readonly profile?: "org" | "space";
  /** The value without flag, variable and profile. */
  readonly otherwise?: string;
  /** True if one of them is required. @default false */
  readonly required?: boolean;
  /** True if it may be given more than once. @default false */
  readonly repeated?: boolean;
  /** True if its value may be empty. @default false */
  readonly allowsEmpty?: boolean;
  readonly check?: Check;
}

export interface ArgumentSpec {
  readonly name: string;
  readonly description: string;
  /** @default false */
  readonly optional?: boolean;
  /** True for the last argument if it takes all words that are left. @default false */
  readonly repeated?: boolean;
  readonly check?: Check;
}

export interface CommandSpec {
  readonly words: readonly string[];
  readonly summary: string;
  readonly args?: readonly ArgumentSpec[];
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  /** Environment variables that it reads beside those of its flags, with their meaning. */
  readonly variables?: readonly string[];
  /** What it changes. Omitted: nothing. */
  readonly changes?: string;
  /** Command lines that show its use, without `grandstand`; the first one is usual. */
  readonly examples: readonly string[];
  /** Requests of the first example where lists fit a page. @default 1, or 0 without a profile */
  readonly requests?: number;
  /** True if the interface does not name it. @default that of its group */
  readonly isOurs?: boolean;
  /** True while its behaviour may change. @default false */
  readonly isAlpha?: boolean;
  readonly output: Output;
  /** True if the profile that `--profile` names need not exist. @default false */
  readonly makesProfile?: boolean;
  /** False if it needs no profile, and so runs where the configuration cannot be read. @default true */
  readonly usesProfile?: boolean;
  /** What exit codes mean here, where that is not plain. */
  readonly exits?: Readonly<Partial<Record<Exit, string>>>;
  /** @throws {CliError} The command failed. */
  readonly run: (input: CliInput, context: CliContext) => Promise<CliResult>;
}

export function requestsOf({ usesProfile = true, requests = usesProfile ? 1 : 0 }: CommandSpec): number {
  return requests;
}

/** Commands with the same first word; their file is loaded when one of them is wanted. */
export interface CommandGroup {
  readonly word: string;
  /** True if the interface names none of its commands that do not say otherwise. */
  readonly isOurs: boolean;
  readonly load: () => Promise<readonly CommandSpec[]>;
}

export interface CliInput {
  readonly args: readonly string[];
  /** Values of flags, or of what replaces them, by name; a flag without a value is `""`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

export interface CliResult {
  /** Printed with `--json`; `output` of the command says its form. */
  readonly data: unknown;
  /** Printed beside `data` with `--json`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Printed to stdout without `--json`: tables or text. Omitted: `data` as `output` says. */
  readonly shown?: Rows | string | undefined;
  readonly notes?: readonly string[];
  /** @default exits.ok */
  readonly exit?: Exit | undefined;
}

export interface CliContext extends ClientContext {
  readonly groups: readonly CommandGroup[];
  /** Opens the control API. @throws {CliError} No token is known, or the profile is wrong. */
  readonly api: () => Promise<ControlApi>;
  /**
   * Asks before a change that cannot be undone. No is the default, and so is the end of the input.
   *
   * @throws {CliError} The answer is no, or nobody can be asked and the command line has no `--yes`.
   */
  readonly confirm: (question: string) => Promise<void>;
  /** Shows how far a command is: on a terminal in one line, else every 10 s; nothing in the first 300 ms. */
  readonly progress: (text: string) => void;
  /** Notes a step that took effect, which Ctrl-C and failures report. */
  readonly done: (step: string) => void;
}
