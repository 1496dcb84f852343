/** Commands that describe the tool: for people, programs, documents and shells. */

import { suggestion } from "../base/text/suggest.ts";
import { version } from "../platform/version.ts";
import { oneOf } from "./frame/checks.ts";
import { type CommandGroup, type CommandSpec, type FlagSpec, requestsOf } from "./frame/command.ts";
import { exits, wrongUsage } from "./frame/errors.ts";
import { commandHelp, commandsOf, groupHelp, toolHelp } from "./frame/help.ts";
import { json, schemaOf, text } from "./frame/output.ts";
import { globalFlags } from "./frame/parse.ts";

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

export const commands: readonly CommandSpec[] = [helpCommand, completionCommand];

async function completionScript(shell: string, groups: readonly CommandGroup[]): Promise<string> {
  const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
  if (shell === "fish") return fishScript(commands);
  const script = bashScript(commands);
  return shell === "zsh"
    ? `#compdef grandstand\nautoload -U +X bashcompinit && bashcompinit\n${script}`
    : script;
}

function choices(commands: readonly CommandSpec[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const add = (after: readonly string[], choice: string): void => {
    const key = after.join(" ");
    found.set(key, (found.get(key) ?? new Set()).add(choice));
  };
  for (const { words, flags = {} } of commands) {
    for (const [index, word] of words.entries()) add(words.slice(0, index), word);
    for (const name of [...Object.keys(flags), ...Object.keys(globalFlags)]) add(words, `--${name}`);
  }
  return found;
}

function bashScript(commands: readonly CommandSpec[]): string {
  const cases = [...choices(commands)]
    .sort(([a], [b]) => b.length - a.length)
    .map(
      ([after, words]) => `    "${after === "" ? "" : `${after} `}"*) choices="${[...words].join(" ")}" ;;`,
    );
  return `_grandstand() {
  local line="" choices="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) line+="$word " ;; esac
  done
  case "$line" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _grandstand grandstand`;
}

function fishScript(commands: readonly CommandSpec[]): string {
  const lines = commands.flatMap(({ words, summary, flags = {} }) => [
    ...words.map((word, index) => {
      const about = index === words.length - 1 ? ` -d ${quoted(summary)}` : "";
      return `complete -c grandstand -f -n ${quoted(`__grandstand_at ${words.slice(0, index).join(" ")}`)} -a ${word}${about}`;
    }),
    ...Object.entries(flags).map(
      ([name, { value, description }]) =>
        `complete -c grandstand -n ${quoted(`__grandstand_in ${words.join(" ")}`)} -l ${name}${value === undefined ? "" : " -r"} -d ${quoted(description)}`,
    ),
  ]);
  const globals = Object.entries(globalFlags).map(
    ([name, { value, description }]) =>
      `complete -c grandstand -l ${name}${value === undefined ? "" : " -r"} -d ${quoted(description)}`,
  );
  return [
    "function __grandstand_words; string match -v -- '-*' (commandline -opc)[2..]; end",
    'function __grandstand_at; test "$(__grandstand_words)" = "$argv"; end',
    'function __grandstand_in; string match -q -- "$argv*" "$(__grandstand_words)"; end',
    ...new Set(lines),
    ...globals,
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

async function toolData(groups: readonly CommandGroup[], words: readonly string[]) {
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
  const { words, summary, args = [], flags = {}, changes, examples, output } = command;
  return {
    name: words.join(" "),
    summary,
    is_ours: isOurs,
    is_alpha: command.isAlpha === true,
    arguments: args.map(({ name, description, optional = false, repeated = false }) => ({
      name,
      description,
      optional,
      repeated,
    })),
    flags: Object.entries(flags).map(flagData),
    variables: command.variables ?? [],
    changes: changes ?? null,
    examples: examples.map(example => `grandstand ${example}`),
    requests: requestsOf(command),
    exits: command.exits ?? {},
    output_schema: schemaOf(output),
  };
}

function flagData([name, spec]: [string, FlagSpec]) {
  const { value = null, description, variable = null, profile = null, otherwise = null } = spec;
  const { required = false, repeated = false } = spec;
  return { name: `--${name}`, value, description, variable, profile, default: otherwise, required, repeated };
}
