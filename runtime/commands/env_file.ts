import { parseEnv } from "node:util";
import { trimmedVariables } from "../../lib/cli/frame/env_file.ts";
import { wrongUsage } from "../../lib/cli/mod.ts";
import { readTextFile } from "./files.ts";

/** Returns the variables of the environment, and those of a file behind them. @throws {CliError} The file cannot be read. */
export async function environmentWith(
  path: string | undefined,
): Promise<Readonly<Record<string, string | undefined>>> {
  if (path === undefined) return trimmedVariables(process.env);
  try {
    return trimmedVariables({ ...parseEnv(await readTextFile(path)), ...process.env });
  } catch {
    throw wrongUsage(`Cannot read the file ${path} that --env-file names`);
  }
}
