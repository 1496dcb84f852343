import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { wrongUsage } from "../../lib/cli/mod.ts";

/** Returns the variables of the environment, and those of a file behind them. @throws {CliError} The file cannot be read. */
export async function environmentWith(path: string | undefined): Promise<NodeJS.ProcessEnv> {
  if (path === undefined) return process.env;
  try {
    return { ...parseEnv(await readFile(path, "utf8")), ...process.env };
  } catch {
    throw wrongUsage(`Cannot read the file ${path} that --env-file names`);
  }
}
