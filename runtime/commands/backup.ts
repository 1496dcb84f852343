/** `backup` and `restore`: the journal of a data folder as one file. */

import { type BackupFacts, backUpJournal, restoreJournal } from "../../adapters/file/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { type CliContext, CliError, exitOf, exits, wrongUsage } from "../../lib/cli/mod.ts";
import { errorFacts } from "../../lib/http/mod.ts";
import { storeConfig } from "./store_commands.ts";

/** @throws {CliError} The settings name no data folder, the file exists, or the journal is damaged. */
export const backUp: CliContext["backUp"] = (flags, file) =>
  inFolder("backup", flags, folder => backUpJournal(folder, file));

/** @throws {CliError} The settings name no data folder, it is not empty, or the file is no whole backup. */
export const restore: CliContext["restore"] = (flags, file) =>
  inFolder("restore", flags, folder => restoreJournal(file, folder));

async function inFolder(
  command: string,
  flags: Parameters<CliContext["backUp"]>[0],
  work: (folder: string) => Promise<BackupFacts>,
): Promise<BackupFacts> {
  const { data } = await storeConfig(command, flags, { needsSecret: false });
  if (data === undefined) {
    throw wrongUsage(`${command} is for data folders: Redis has its own backups`, {
      hint: "Copy dump.rdb after BGSAVE, or appendonlydir: see Back up and restore Redis in runtime/README.md",
    });
  }
  try {
    return await work(data);
  } catch (error) {
    throw refusal(error);
  }
}

function refusal(error: unknown): unknown {
  if (error instanceof AppError) {
    const { code, message } = error;
    const exit = code === "validation_failed" ? exits.invalid : exitOf(errorFacts[code].status);
    return new CliError(exit, message, { code });
  }
  const isOfSystem = error instanceof Error && "syscall" in error;
  return isOfSystem
    ? new CliError(exits.failed, `Cannot go on: ${error.message}`, { code: "failed" })
    : error;
}
