/** Completion for shells. The scripts hold the whole table, so that completing starts no program. */

import type { CommandGroup, CommandSpec } from "./command.ts";
import { globalFlags } from "./parse.ts";

/** Writes the script for bash, zsh or fish. */
export async function completionScript(shell: string, groups: readonly CommandGroup[]): Promise<string> {
  const commands = (await Promise.all(groups.map(({ load }) => load()))).flat();
  if (shell === "fish") return fishScript(commands);
  const script = bashScript(commands);
  return shell === "zsh"
    ? `#compdef grandstand\nautoload -U +X bashcompinit && bashcompinit\n${script}`
    : script;
}

/** What may follow the words of a command line. */
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
