/** Commands that describe the tool: for people, programs, documents and shells. */

import { suggestion } from "../base/text/suggest.ts";
import { oneOf } from "./frame/checks.ts";
import type { CommandSpec } from "./frame/command.ts";
import { completionScript } from "./frame/complete.ts";
import { wrongUsage } from "./frame/errors.ts";
import { commandHelp, groupHelp, toolHelp } from "./frame/help.ts";
import { json, text } from "./frame/output.ts";
import { toolData, toolMarkdown } from "./frame/reference.ts";

const helpCommand: CommandSpec = {
  words: ["help"],
  summary: "Explain a command or all of them; with --json the whole tool as data",
  args: [{ name: "words", description: "The words of a command or group", optional: true, repeated: true }],
  flags: { markdown: { description: "Print the reference as Markdown" } },
  examples: ["help", "help events create", "help --json", "help --markdown"],
  output: json,
  usesProfile: false,
  async run({ args, flags }, { groups }) {
    const wanted = args.length === 0 ? groups : groups.filter(({ word }) => word === args[0]);
    const data = await toolData(wanted, args);
    if (data.commands.length === 0) {
      const names = (await toolData(groups, [])).commands.map(({ name }) => name);
      throw wrongUsage(`There is no command "${args.join(" ")}".${suggestion(args.join(" "), names)}`);
    }
    if ("markdown" in flags) return { data, shown: await toolMarkdown(wanted) };
    if (args.length === 0) return { data, shown: await toolHelp(groups) };
    const siblings = (await Promise.all(wanted.map(({ load }) => load()))).flat();
    const command = siblings.find(({ words }) => words.join(" ") === args.join(" "));
    return { data, shown: command === undefined ? groupHelp(siblings) : commandHelp(command) };
  },
};

const completionCommand: CommandSpec = {
  words: ["completion"],
  summary: "Print a script that completes commands and flags in your shell",
  args: [{ name: "shell", description: "bash, zsh or fish", check: oneOf("bash", "zsh", "fish") }],
  examples: ["completion bash > ~/.local/share/bash-completion/completions/grandstand"],
  output: text,
  usesProfile: false,
  run: async ({ args: [shell = ""] }, { groups }) => ({ data: await completionScript(shell, groups) }),
};

/** Commands that begin with `help`. */
export const helpCommands: readonly CommandSpec[] = [helpCommand];
/** Commands that begin with `completion`. */
export const completionCommands: readonly CommandSpec[] = [completionCommand];
