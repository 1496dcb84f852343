/** The tool as data and as a document, from the table of commands. */

import { version } from "../../platform/version.ts";
import type { CommandGroup, CommandSpec, FlagSpec } from "./command.ts";
import { exits } from "./errors.ts";
import { commandHelp, commandsOf } from "./help.ts";
import { schemaOf } from "./output.ts";
import { globalFlags } from "./parse.ts";

/** Returns the commands of some groups that begin with the words. */
export async function toolData(groups: readonly CommandGroup[], words: readonly string[]) {
  const listed = await Promise.all(
    [false, true].map(async isOurs =>
      (await commandsOf(groups, isOurs))
        .filter(command => words.every((word, at) => command.words[at] === word))
        .map(command => commandData(command, isOurs)),
    ),
  );
  return {
    version,
    commands: listed.flat(),
    global_flags: Object.entries(globalFlags).map(flagData),
    exit_codes: exits,
  };
}

/** Writes the reference of some groups. */
export async function toolMarkdown(groups: readonly CommandGroup[]): Promise<string> {
  const chapter = async (title: string, isOurs: boolean): Promise<string> => {
    const commands = await commandsOf(groups, isOurs);
    const parts = commands.map(
      command =>
        `### ${command.words.join(" ")}\n\n\`\`\`text\n${commandHelp(command, false).trimEnd()}\n\`\`\`\n`,
    );
    return parts.length === 0 ? "" : `## ${title}\n\n${parts.join("\n")}`;
  };
  return [
    "# Reference of the command line\n",
    "`grandstand help --markdown` prints this page, `grandstand help --json` the same as data.\n",
    await chapter("Commands of the interface", false),
    await chapter("Other commands", true),
  ]
    .filter(part => part !== "")
    .join("\n");
}

function commandData(command: CommandSpec, isOurs: boolean) {
  const { words, summary, args = [], flags = {}, changes, examples, requests = 0, output } = command;
  return {
    name: words.join(" "),
    summary,
    is_ours: isOurs,
    is_alpha: command.isAlpha === true,
    arguments: args.map(({ name, description, optional = false, repeated = false }) => ({
      ...{ name, description, optional, repeated },
    })),
    flags: Object.entries(flags).map(flagData),
    variables: command.variables ?? [],
    changes: changes ?? null,
    examples: examples.map(example => `grandstand ${example}`),
    requests,
    exits: command.exits ?? {},
    output_schema: schemaOf(output),
  };
}

function flagData([name, spec]: [string, FlagSpec]) {
  const { value = null, description, variable = null, profile = null, otherwise = null } = spec;
  const { required = false, repeated = false } = spec;
  return { name: `--${name}`, value, description, variable, profile, default: otherwise, required, repeated };
}
