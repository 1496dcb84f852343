import { parseArgs } from "node:util";
import { type CliInput, type CommandSpec, commands, type FlagSpec } from "../../lib/cli/mod.ts";

/** Flags of every command. */
const commonFlags: Readonly<Record<string, FlagSpec>> = {
  json: { description: "Print one JSON document, errors included" },
  help: { description: "Print help" },
};

/** The meaning of a command line about a command of the table. */
export type ParsedCommand =
  | {
      readonly kind: "command";
      readonly command: CommandSpec;
      readonly input: CliInput;
      readonly json: boolean;
    }
  | { readonly kind: "commandHelp"; readonly text: string }
  | { readonly kind: "wrong"; readonly message: string };

/** The first words of all commands. */
export const commandGroups: readonly string[] = [...new Set(commands.map(({ words }) => words[0] ?? ""))];

/** Parses the arguments of a command by the table of commands. Unknown flags and surplus words are errors. */
export function parseCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ParsedCommand {
  const [group = "", name] = args;
  const siblings = commands.filter(({ words }) => words[0] === group);
  const alone = siblings.find(({ words }) => words.length === 1);
  if (alone !== undefined) return parseArguments(alone, args.slice(1), environment);
  const isHelp = name === undefined || ["help", "--help", "-h"].includes(name);
  if (isHelp) return { kind: "commandHelp", text: siblings.map(commandHelp).join("\n") };
  const command = siblings.find(({ words }) => words[1] === name);
  if (command === undefined) {
    const names = siblings.map(({ words }) => words[1] ?? "");
    return wrong(`There is no command "${group} ${name}".${suggestion(name, names, `${group} `)}`);
  }
  return parseArguments(command, args.slice(command.words.length), environment);
}

function parseArguments(
  command: CommandSpec,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ParsedCommand {
  const specs: Readonly<Record<string, FlagSpec>> = { ...command.flags, ...commonFlags };
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const words: string[] = [];
  const flags: Record<string, string> = {};
  const lists: Record<string, string[]> = {};
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const spec = specs[token.name];
    const fault = faultOf(token, { spec, isGiven: token.name in flags, names: Object.keys(specs) });
    if (fault !== null) return wrong(fault);
    if (spec?.repeated === true) lists[token.name] = [...(lists[token.name] ?? []), token.value ?? ""];
    else flags[token.name] = token.value ?? "";
  }
  if ("help" in flags) return { kind: "commandHelp", text: commandHelp(command) };
  const missing = fillIn(command, { words, flags, environment });
  if (missing !== null) return wrong(missing);
  const { json, ...others } = flags;
  return { kind: "command", command, input: { args: words, flags: others, lists }, json: json !== undefined };
}

interface Option {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function faultOf(
  { name, rawName, value }: Option,
  { spec, isGiven, names }: { spec: FlagSpec | undefined; isGiven: boolean; names: readonly string[] },
): string | null {
  if (spec === undefined) {
    return `There is no ${rawName}.${suggestion(name, names, "--")}`;
  }
  if (isGiven) return `${rawName} is given more than once.`;
  if (spec.value !== undefined && (value === undefined || value === "")) return `${rawName} needs a value.`;
  if (spec.value === undefined && value !== undefined) return `${rawName} takes no value.`;
  return null;
}

/** Fills in flags from the environment, and returns the error about missing or surplus arguments, or null. */
function fillIn(
  command: CommandSpec,
  given: {
    readonly words: readonly string[];
    readonly flags: Record<string, string>;
    readonly environment: Readonly<Record<string, string | undefined>>;
  },
): string | null {
  const { words, flags, environment } = given;
  const name = command.words.join(" ");
  const missing = command.args[words.length];
  if (missing !== undefined) return `${name} needs <${missing.name}>: ${missing.description}.`;
  const surplus = words[command.args.length];
  if (surplus !== undefined) return `${name} takes no argument "${surplus}".`;
  for (const [flag, { variable, required }] of Object.entries(command.flags)) {
    const value = variable === undefined ? undefined : environment[variable];
    if (!(flag in flags) && value !== undefined && value !== "") flags[flag] = value;
    if (required === true && !(flag in flags)) {
      return `${name} needs --${flag}${variable === undefined ? "" : ` or ${variable}`}.`;
    }
  }
  return null;
}

/** Writes the help of a command. */
function commandHelp({ words, summary, args, flags }: CommandSpec): string {
  const usage = ["grandstand", ...words, ...args.map(({ name }) => `<${name}>`)].join(" ");
  const rows = Object.entries({ ...flags, ...commonFlags }).map(
    ([flag, { value, description, variable }]) => {
      const heading = value === undefined ? `--${flag}` : `--${flag} <${value}>`;
      return `  ${heading.padEnd(22)}${description}${variable === undefined ? "" : ` (${variable})`}`;
    },
  );
  const argumentRows = args.map(({ name, description }) => `  ${`<${name}>`.padEnd(22)}${description}`);
  return [`${usage}`, `  ${summary}.`, ...argumentRows, ...rows, ""].join("\n");
}

function wrong(message: string): ParsedCommand {
  return { kind: "wrong", message };
}

/** Most edits of a word that counts as misspelled. */
const editsMax = 2;

/** Suggests the candidate closest to a misspelled word, as a sentence; empty if none is close. */
export function suggestion(word: string, candidates: readonly string[], prefix = ""): string {
  let best: string | null = null;
  let bestEdits = Math.min(editsMax, word.length - 1) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(word, candidate);
    if (edits >= bestEdits) continue;
    best = candidate;
    bestEdits = edits;
  }
  return best === null ? "" : ` Did you mean ${prefix}${best}?`;
}

/** Computes the Levenshtein distance, row by row (Wagner and Fischer, 1974). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
