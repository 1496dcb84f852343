import { rename, writeFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import {
  type CliContext,
  CliError,
  type CliFiles,
  type CliInput,
  type CommandSpec,
  exits,
  printedError,
  printedResult,
} from "../../lib/cli/mod.ts";

const storeCommands = () => import("./store_commands.ts");

/** Runs a command, prints its result, and returns the exit code. */
export async function runCommand(command: CommandSpec, input: CliInput, json: boolean): Promise<number> {
  const context: CliContext = {
    fetch: request => fetch(request),
    pause: ms => setTimeout(ms),
    random: Math.random,
    timeLimit: ms => AbortSignal.timeout(ms),
    files,
    clock: Date.now,
    loyaltyFaults: async document => (await import("../services/seed_files.ts")).loyaltyFaults(document),
    playScenarios: async (...played) => (await import("../../lib/loyalty/mod.ts")).playScenarios(...played),
    bootstrapOperator: async (...wanted) => await (await storeCommands()).bootstrapOperator(...wanted),
    bootstrapKey: async (...key) => await (await storeCommands()).bootstrapKey(...key),
    inKeyRing: async (...order) => await (await storeCommands()).inKeyRing(...order),
    applySeed: async (flags, path) => await (await storeCommands()).applySeedFile(flags, path),
    indexUsers: async (...indexing) => await (await storeCommands()).indexUsers(...indexing),
    rebuildBoard: async (...board) => await (await storeCommands()).rebuildBoardInStore(...board),
    doctor: async (...order) => await (await storeCommands()).runDoctorInStore(...order),
    reportProgress: progress => void (json || process.stderr.write(`${progress}\n`)),
    decryptExport: async (...file) => await (await import("./export_file.ts")).decryptFile(...file),
    secret: process.env.GRANDSTAND_API_SECRET,
  };
  const options = { json, isTerminal: process.stdout.isTTY === true };
  try {
    const result = await command.run(input, context);
    const { stdout, stderr } = printedResult(result, options);
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    return result.exit ?? exits.ok;
  } catch (error) {
    const cliError = error instanceof CliError ? error : unexpected(error);
    process.stderr.write(printedError(cliError, options).stderr);
    return cliError.exit;
  }
}

function unexpected(error: unknown): CliError {
  const message = error instanceof Error ? error.message : String(error);
  return new CliError(exits.failed, message, { code: "failed" });
}

const files: CliFiles = {
  async read(path) {
    const { readDocumentFile } = await import("../services/document_file.ts");
    try {
      return await readDocumentFile(path);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    }
  },
  async write(path, document) {
    const temporary = `${path}.${process.pid}.tmp`;
    await writeFile(temporary, await textOf(path, document));
    await rename(temporary, path);
  },
};

async function textOf(path: string, document: unknown): Promise<string> {
  if (!/\.ya?ml$/i.test(path)) return `${JSON.stringify(document, null, 2)}\n`;
  const { stringify } = await import("yaml");
  return stringify(document);
}
