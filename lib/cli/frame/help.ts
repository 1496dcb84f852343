/** Help as text. */

import type { ArgumentSpec, CommandGroup, CommandSpec, FlagSpec } from "./command.ts";
import { globalFlags } from "./parse.ts";

const columnWidth = 26;
const lineWidth = 80;

export function commandHelp(command: CommandSpec, hasGlobals = true): string {
  const { words, summary, args = [], flags = {}, variables = [], changes, examples, exits = {} } = command;
  const usage = ["grandstand", ...words, ...args.map(usageOf), "[flags]"].join(" ");
  return [
    `${usage}\n`,
    wrapped(`${summary}.`, 2),
    ...(command.isAlpha === true ? ["  Alpha: its behaviour may change."] : []),
    wrapped(`Changes: ${changes ?? "nothing"}.`, 2),
    section("Arguments", args, one => line(usageOf(one), one.description)),
    section("Flags", Object.entries(flags), flagLine),
    section("Global flags", hasGlobals ? Object.entries(globalFlags) : [], flagLine),
    section("Variables", variables, text => wrapped(text, 2)),
    section("Examples", examples, example => `  grandstand ${example}`),
    section("Exit codes", Object.entries(exits), ([code, meaning]) => line(code, meaning)),
  ]
    .filter(part => part !== "")
    .join("\n")
    .concat("\n");
}

export function groupHelp(commands: readonly CommandSpec[]): string {
  const [word = ""] = commands[0]?.words ?? [];
  return `${commands.map(summaryLine).join("\n")}\n\nMore with grandstand ${word} <command> --help.\n`;
}

export async function commandsOf(
  groups: readonly CommandGroup[],
  wantsOurs: boolean,
): Promise<readonly CommandSpec[]> {
  const loaded = groups.map(async ({ load, isOurs: ofGroup }) =>
    (await load()).filter(({ isOurs = ofGroup }) => isOurs === wantsOurs),
  );
  return (await Promise.all(loaded)).flat();
}

export async function toolHelp(groups: readonly CommandGroup[]): Promise<string> {
  return [
    "Usage: grandstand <command> [arguments] [flags]",
    section("Commands of the interface", await commandsOf(groups, false), summaryLine),
    section("Other commands", await commandsOf(groups, true), summaryLine),
    section("Global flags", Object.entries(globalFlags), flagLine),
    "\nExit codes: 0 done, 1 failed, 2 wrong usage or consent missing,",
    "  3 differences found, 4 not authenticated, 5 forbidden, 6 not found,",
    "  7 conflict, 8 invalid, 9 unavailable, 10 declined, 130 interrupted.",
    "More with grandstand <command> --help.\n",
  ].join("\n");
}

function summaryLine({ words, args = [], summary, isAlpha }: CommandSpec): string {
  return line([...words, ...args.map(usageOf)].join(" "), isAlpha === true ? `${summary} (alpha)` : summary);
}

function usageOf({ name, optional, repeated }: ArgumentSpec): string {
  const text = repeated === true ? `${name}...` : name;
  return optional === true ? `[${text}]` : `<${text}>`;
}

function flagLine([name, { value, description, variable, profile, otherwise, required }]: [
  string,
  FlagSpec,
]): string {
  const facts = [
    required === true && "required",
    otherwise !== undefined && `default ${otherwise}`,
    variable,
    profile !== undefined && "or of the profile",
  ].filter(Boolean);
  const heading = value === undefined ? `--${name}` : `--${name} <${value}>`;
  return line(heading, facts.length === 0 ? description : `${description} (${facts.join("; ")})`);
}

function line(heading: string, text: string): string {
  return heading.length < columnWidth
    ? `  ${heading.padEnd(columnWidth)}${wrapped(text, columnWidth + 2).trimStart()}`
    : `  ${heading}\n${wrapped(text, 6)}`;
}

function wrapped(text: string, indent: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && indent + last.length + 1 + word.length > lineWidth) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.map(each => " ".repeat(indent) + each).join("\n");
}

function section<I>(title: string, items: readonly I[], write: (item: I) => string): string {
  return items.length === 0 ? "" : `\n${title}:\n${items.map(write).join("\n")}`;
}
