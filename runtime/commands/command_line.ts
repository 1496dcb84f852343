import { parseArgs } from "node:util";
import { commands as remoteCommands } from "../../lib/cli/mod.ts";
import { variables } from "../config.ts";
import { commandGroups, type ParsedCommand, parseCommand, suggestion } from "./parse_command.ts";

/** The meaning of a command line. */
export type Invocation =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | {
      readonly kind: "serve";
      readonly demo: boolean;
      readonly envFile: string | null;
      /** Flags of settings. */
      readonly flags: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "worker";
      readonly envFile: string | null;
      readonly flags: Readonly<Record<string, string>>;
    }
  | ParsedCommand;

interface Flag {
  readonly type: "boolean" | "string";
  readonly short?: string;
}

const ownFlags: Readonly<Record<string, Flag>> = {
  demo: { type: "boolean" },
  "env-file": { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
};
const settingFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  variables.flatMap(({ flag }) => (flag === undefined ? [] : [[flag, { type: "string" }]])),
);
const flags = { ...ownFlags, ...settingFlags };
const commands = ["serve", "worker", "help", "version", ...commandGroups];

/** Parses the arguments of the program. */
export function parseCommandLine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Invocation {
  if (commandGroups.includes(args[0] ?? "")) return parseCommand(args, environment);
  const { tokens } = parseArgs({ args: [...args], options: flags, strict: false, tokens: true });
  const words: string[] = [];
  const given = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const fault = faultOf(token.name, token.rawName, token.value);
    if (fault !== null) return { kind: "wrong", message: fault };
    given.set(token.name, token.value ?? "");
  }
  if (given.has("help") || (words.length === 0 && given.size === 0)) return { kind: "help" };
  if (given.has("version")) return { kind: "version" };
  return commandOf(words, given);
}

function faultOf(name: string, rawName: string, value: string | undefined): string | null {
  const spec = flags[name];
  if (spec === undefined) {
    return `There is no ${rawName}.${suggestion(name, Object.keys(flags), "--")}`;
  }
  if (spec.type === "string" && (value === undefined || value === "")) return `${rawName} needs a value.`;
  if (spec.type === "boolean" && value !== undefined) return `${rawName} takes no value.`;
  return null;
}

function commandOf([command, extra]: readonly string[], given: ReadonlyMap<string, string>): Invocation {
  if (command === undefined) return { kind: "wrong", message: "A command is missing." };
  if (extra !== undefined) return { kind: "wrong", message: `${command} takes no argument "${extra}".` };
  if (command === "help" || command === "version") return { kind: command };
  if (command !== "serve" && command !== "worker") {
    return { kind: "wrong", message: `There is no command "${command}".${suggestion(command, commands)}` };
  }
  const flags = Object.fromEntries([...given].filter(([name]) => name in settingFlags));
  const envFile = given.get("env-file") ?? null;
  if (command === "serve") return { kind: "serve", demo: given.has("demo"), envFile, flags };
  if (given.has("demo")) return { kind: "wrong", message: "worker takes no --demo." };
  return { kind: "worker", envFile, flags };
}

/** Width of the column of commands. */
const wordsWidth = Math.max(...remoteCommands.map(({ words }) => words.join(" ").length)) + 2;

/** Writes the text of `--help`. */
export function helpText(): string {
  const rows = variables.map(({ name, flag, value, description, otherwise }) => {
    const heading = flag === undefined ? name : `${name}, --${flag} <${value}>`;
    return `  ${heading}\n      ${description}. Default: ${otherwise}.`;
  });
  return [
    "Usage: grandstand serve [--demo] [--env-file <path>] [settings]",
    "       grandstand worker [--env-file <path>] [settings]",
    "",
    "  serve       Serve every area on one port until SIGTERM or SIGINT",
    "  worker      Apply queued actions for the servers on the same Redis until SIGTERM or SIGINT",
    "  help        Print this help (also --help, -h)",
    "  version     Print the version (also --version, -v)",
    "",
    ...remoteCommands.map(({ words, summary }) => `  ${words.join(" ").padEnd(wordsWidth)}${summary}`),
    `      More with ${commandGroups.map(group => `grandstand ${group} --help`).join(" and ")}.`,
    "",
    "  --demo      Fill an empty store with demo data and print commands to paste",
    "  --env-file  Read variables from a file; those of the environment win",
    "",
    "Settings, by variable or flag; a flag wins:",
    ...rows,
    "",
    "Exit codes: 0 stopped or done, 1 failed, 2 wrong usage or settings, 3 differences found,",
    "  4 not authenticated, 5 forbidden, 6 not found, 7 conflict, 8 invalid, 9 unavailable.",
  ].join("\n");
}
