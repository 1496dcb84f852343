/** Runs commands as from a terminal. */

import assert from "node:assert/strict";
import { type CliContext, type CliInput, type CommandSpec, commands } from "../../lib/cli/mod.ts";

/** Input of a command. */
export type Given = Partial<Pick<CliInput, "args" | "lists">> & {
  readonly flags?: Readonly<Record<string, string>>;
};

const notHere = (): Promise<never> => Promise.reject(new Error("not here"));

/** A context in which commands find no files and no store, and only the server that is given. */
export function cliContext(given: Pick<CliContext, "fetch" | "secret"> & Partial<CliContext>): CliContext {
  return {
    pause: () => Promise.resolve(),
    random: () => 0.5,
    timeLimit: () => new AbortController().signal,
    files: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
    clock: () => 0,
    loyaltyFaults: async () => [],
    playScenarios: notHere,
    bootstrapOperator: notHere,
    bootstrapKey: notHere,
    inKeyRing: notHere,
    applySeed: notHere,
    indexUsers: notHere,
    rebuildBoard: notHere,
    doctor: notHere,
    reportProgress: () => {},
    decryptExport: notHere,
    ...given,
  };
}

/** Runs the command of these words. */
export async function runCommand(
  context: CliContext,
  words: string,
  { args = [], flags = {}, lists = {} }: Given,
): ReturnType<CommandSpec["run"]> {
  const command = commands.find(one => one.words.join(" ") === words);
  assert.ok(command !== undefined, words);
  return await command.run({ args, flags: { url: "http://127.0.0.1", ...flags }, lists }, context);
}
