/** The file with the profiles of commands. */

import { rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { CliError, type ConfigFile, exits, type TokenSource } from "../../lib/cli/mod.ts";
import { files, readTextFile } from "./files.ts";

/** Mode bits of others and the group. */
const sharedBits = 0o077;
/** Longest time of a command that prints a token, in ms. */
const commandMsMax = 30_000;

const path = configPath();

/** The file of this machine: GRANDSTAND_CONFIG, else in the folder of XDG_CONFIG_HOME or `~/.config`. */
export const config: ConfigFile = {
  path,
  async read() {
    try {
      const [text, { mode }] = await Promise.all([readTextFile(path), stat(path)]);
      return { text, isShared: process.platform !== "win32" && (mode & sharedBits) !== 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { text: null, isShared: false };
      throw new CliError(exits.failed, `Cannot read ${path}: ${String(error)}`, {
        code: "wrong_configuration",
      });
    }
  },
  write: text => files.writeText(path, text),
  async token(source) {
    try {
      return await tokenFrom(source);
    } catch (error) {
      // The output of a command could hold the token.
      const reason = "command" in source ? "the command failed" : String(error);
      throw new CliError(exits.unauthenticated, `Cannot read the token of the profile: ${reason}`, {
        code: "not_logged_in",
        next: "grandstand login",
      });
    }
  },
  async writeToken(file, token) {
    if (token === null) await rm(beside(file), { force: true });
    else await files.writeText(beside(file), `${token}\n`);
  },
};

async function tokenFrom(source: TokenSource): Promise<string> {
  if ("file" in source) return await readTextFile(beside(source.file));
  if ("env" in source) return process.env[source.env] ?? "";
  const [program = "", ...args] = source.command;
  const [{ execFile }, { promisify }] = await Promise.all([
    import("node:child_process"),
    import("node:util"),
  ]);
  const { stdout } = await promisify(execFile)(program, args, { timeout: commandMsMax });
  return stdout;
}

function beside(file: string): string {
  return isAbsolute(file) ? file : join(dirname(path), file);
}

function configPath(): string {
  const { GRANDSTAND_CONFIG, XDG_CONFIG_HOME } = process.env;
  if (GRANDSTAND_CONFIG !== undefined && GRANDSTAND_CONFIG !== "") return GRANDSTAND_CONFIG;
  const home =
    XDG_CONFIG_HOME === undefined || XDG_CONFIG_HOME === "" ? join(homedir(), ".config") : XDG_CONFIG_HOME;
  return join(home, "grandstand", "config.json");
}
