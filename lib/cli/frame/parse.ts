/**
 * The grammar of command lines. Words of the command come first, among them only global flags; everything is judged by the
 * table: what is unknown, repeated, empty or too much is wrong usage.
 */

import { suggestion } from "../../base/text/suggest.ts";
import { address, whole } from "./checks.ts";
import type { CliInput, CommandGroup, CommandSpec, FlagSpec } from "./command.ts";
import { wrongUsage } from "./errors.ts";

/** Flags of every command; they may stand before and behind its words. */
export const globalFlags: Readonly<Record<string, FlagSpec>> = {
  profile: {
    value: "name",
    description: "The profile of the configuration",
    variable: "GRANDSTAND_PROFILE",
  },
  "control-url": {
    value: "url",
    description: "Address of the platform",
    variable: "GRANDSTAND_CONTROL_URL",
    check: address,
  },
  json: { description: "Print one JSON document, errors included" },
  quiet: { description: "Print no notes and no progress (-q)" },
  verbose: { description: "Print every request and where settings come from (-v)" },
  "no-input": { description: "Never ask", variable: "GRANDSTAND_NO_INPUT" },
  "no-color": { description: "Print without colours", variable: "NO_COLOR" },
  timeout: {
    value: "seconds",
    description: "Longest time of a request",
    otherwise: "30",
    check: whole(1, 3_600),
  },
  help: { description: "Print help (-h)" },
  version: { description: "Print the version" },
};

const shortFlags: Readonly<Record<string, string>> = { "-h": "--help", "-q": "--quiet", "-v": "--verbose" };

const noInput: CliInput = { args: [], flags: {}, lists: {} };

interface CommandLine {
  /** Null: the words name a group or nothing, and help is wanted. */
  readonly command: CommandSpec | null;
  /** The commands that begin with the words; empty if there are none. */
  readonly siblings: readonly CommandSpec[];
  readonly input: CliInput;
  readonly globals: Readonly<Record<string, string>>;
}

/**
 * Parses a command line; variables and profile are not filled in.
 *
 * @throws {CliError} Wrong usage.
 */
export async function parseCommandLine(
  args: readonly string[],
  groups: readonly CommandGroup[],
): Promise<CommandLine> {
  const words = leadingWords(args);
  const [{ text: first = "" } = {}] = words;
  const group = groups.find(({ word }) => word === first);
  if (first === "version") return { command: null, siblings: [], input: noInput, globals: { version: "" } };
  if (group === undefined && first !== "") {
    const names = groups.map(({ word }) => word);
    const next = "grandstand help";
    throw wrongUsage(`There is no command "${first}".${suggestion(first, names)}`, { next });
  }
  const siblings = (await group?.load()) ?? [];
  const texts = words.map(({ text }) => text);
  const command = longestMatch(siblings, texts);
  if (command === null) {
    const below = siblings.filter(({ words: all }) => texts.every((word, index) => all[index] === word));
    if (below.length === 0 && first !== "") throw unknownCommand(siblings, texts);
    const skipped = new Set(words.map(({ index }) => index));
    const others = args.filter((_, index) => !skipped.has(index));
    const { flags } = sorted(others, globalFlags);
    return { command, siblings: below, input: noInput, globals: flags };
  }
  const used = new Set(words.slice(0, command.words.length).map(({ index }) => index));
  const left = args.filter((_, index) => !used.has(index));
  const { flags, lists, positional } = sorted(left, { ...globalFlags, ...command.flags });
  if (!("help" in flags)) checkArguments(command, positional);
  const some = (areOwn: boolean) =>
    Object.entries(flags).filter(([name]) => (command.flags?.[name] !== undefined) === areOwn);
  const input = { args: positional, flags: Object.fromEntries(some(true)), lists };
  return { command, siblings, input, globals: Object.fromEntries(some(false)) };
}

/** The words before the first flag that is not global, with their places. */
function leadingWords(args: readonly string[]): { readonly text: string; readonly index: number }[] {
  const words: { text: string; index: number }[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (!arg.startsWith("-")) {
      words.push({ text: arg, index });
      continue;
    }
    const spec = globalFlags[(shortFlags[arg] ?? arg).replace(/^--|=.*$/g, "")];
    if (spec === undefined) break;
    if (spec.value !== undefined && !arg.includes("=")) index += 1;
  }
  return words;
}

function longestMatch(commands: readonly CommandSpec[], texts: readonly string[]): CommandSpec | null {
  const matches = commands.filter(({ words }) => words.every((word, index) => texts[index] === word));
  return matches.sort((a, b) => b.words.length - a.words.length)[0] ?? null;
}

function unknownCommand(siblings: readonly CommandSpec[], texts: readonly string[]) {
  const depth = Math.max(...siblings.map(({ words }) => words.length));
  const text = texts.slice(0, depth).join(" ");
  const names = siblings.map(({ words }) => words.join(" "));
  const near = suggestion(text, names) || suggestion(texts.slice(0, 2).join(" "), names);
  return wrongUsage(`There is no command "${text}".${near}`, { next: `grandstand ${texts[0]} --help` });
}

interface Sorted {
  readonly flags: Record<string, string>;
  readonly lists: Record<string, string[]>;
  readonly positional: string[];
}

function sorted(args: readonly string[], specs: Readonly<Record<string, FlagSpec>>): Sorted {
  const found: Sorted = { flags: {}, lists: {}, positional: [] };
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--") {
      found.positional.push(...args.slice(index + 1));
      break;
    }
    if (arg === "-" || !arg.startsWith("-")) {
      found.positional.push(arg);
      continue;
    }
    const [, name = "", inline] = /^--([^=]*)(?:=(.*))?$/s.exec(shortFlags[arg] ?? arg) ?? [];
    const spec = specs[name];
    if (spec === undefined) {
      const written = arg.replace(/=.*$/s, "");
      throw wrongUsage(`There is no ${written}.${suggestion(name, Object.keys(specs), "--")}`);
    }
    if (spec.value !== undefined && inline === undefined) index += 1;
    note(found, name, spec, spec.value === undefined ? inline : (inline ?? nextValue(args[index], name)));
  }
  return found;
}

function nextValue(value: string | undefined, name: string): string | undefined {
  if (value === undefined || value === "-" || !value.startsWith("-")) return value;
  throw wrongUsage(`--${name} needs a value; write --${name}=${value} if ${value} is meant`);
}

function note(found: Sorted, name: string, spec: FlagSpec, value: string | undefined): void {
  const fault = flagFault(name, spec, value);
  if (fault !== null) throw wrongUsage(fault);
  if (spec.repeated === true) found.lists[name] = [...(found.lists[name] ?? []), value ?? ""];
  else if (name in found.flags) throw wrongUsage(`--${name} is given more than once`);
  else found.flags[name] = value ?? "";
}

function flagFault(name: string, spec: FlagSpec, value: string | undefined): string | null {
  if (spec.value === undefined) return value === undefined ? null : `--${name} takes no value`;
  if (value === undefined || (value === "" && spec.allowsEmpty !== true)) return `--${name} needs a value`;
  const fault = spec.check?.(value) ?? null;
  return fault === null ? null : `--${name} ${fault}`;
}

function checkArguments({ words, args = [] }: CommandSpec, given: readonly string[]): void {
  const name = words.join(" ");
  const last = args.at(-1);
  if (given.length > args.length && last?.repeated !== true) {
    throw wrongUsage(`${name} takes no argument "${given[args.length]}"`);
  }
  for (const [index, { name: argument, description, optional }] of args.entries()) {
    if (given[index] === undefined && optional !== true) {
      throw wrongUsage(`${name} needs <${argument}>: ${description}`);
    }
  }
  for (const [index, value] of given.entries()) {
    const { name: argument, check } = args[index] ?? last ?? { name: "" };
    const fault = value === "" ? "must not be empty" : (check?.(value) ?? null);
    if (fault !== null) throw wrongUsage(`<${argument}> ${fault}`);
  }
}
