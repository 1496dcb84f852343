/**
 * Backups of a journal directory. A backup is one file in the form of a snapshot: the frames of the newest snapshot and of the
 * logs behind it, each line with its digest, and a last line with their number.
 */

import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pid } from "node:process";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { retry } from "../../../lib/storage/background/mod.ts";
import { openFileStore } from "./file_journal.ts";
import { DirectoryLock } from "./lock.ts";
import {
  type Chain,
  LogFile,
  listChain,
  logPath,
  requireUsedLog,
  snapshotPath,
  syncDirectory,
} from "./log_file.ts";
import { type DamagePlace, type ReplayOptions, replayFile, requireUnbroken } from "./recovery.ts";

/** Numbers of a backup. */
export interface BackupFacts {
  readonly bytes: number;
  /** Number of its changes and records. */
  readonly frames: number;
  /** Digest of its content, in 8 hex digits. */
  readonly digest: string;
}

const attemptsMax = 5;

/**
 * Copies the journal of a directory to a new file, readable by its owner only, which appears when it is complete. The process
 * that uses the directory may go on writing: every commit that was acknowledged before is in the backup, and none in part.
 *
 * @throws AppError `not_found`: the directory has no journal; `conflict`: the file exists; `storage_unavailable`: the journal
 *   is damaged
 */
export async function backUpJournal(directory: string, file: string): Promise<BackupFacts> {
  if (await exists(file)) throw new AppError("conflict", `Cannot write ${file}: it exists`);
  const part = `${file}.${pid}.part`;
  return await retry(
    async () => {
      const target = await LogFile.create(part);
      try {
        await copyChain(directory, target);
        const facts = await finish(target);
        await rename(part, file);
        await syncDirectory(dirname(resolve(file)));
        return facts;
      } catch (error) {
        await target.remove().catch(() => rm(part, { force: true }));
        throw error;
      }
    },
    { attemptsMax, isRetryable: isMissing },
  );
}

async function copyChain(directory: string, target: LogFile): Promise<void> {
  const chain = await listChain(directory);
  const last = chain.logs.at(-1);
  if (last === undefined) throw new AppError("not_found", `Cannot back up ${directory}: it has no journal`);
  // Where the backup ends: what was acknowledged until now is in the file.
  const { size } = await stat(logPath(directory, last));
  requireUnbroken(directory, chain);
  await requireUsedLog(directory, chain.snapshot ?? 1);
  for (const path of closedFiles(directory, chain)) {
    const { sealed } = await copyFrames(path, target);
    if (!sealed) throw new AppError("storage_unavailable", `Cannot back up ${directory}: ${path} ends early`);
  }
  if (size > 0) await copyFrames(logPath(directory, last), target, { bytesMax: size });
}

function closedFiles(directory: string, { snapshot, logs }: Chain): readonly string[] {
  const closedLogs = logs.slice(0, -1).map(log => logPath(directory, log));
  return snapshot === undefined ? closedLogs : [snapshotPath(directory, snapshot), ...closedLogs];
}

async function copyFrames(
  path: string,
  target: LogFile,
  options: ReplayOptions = {},
): ReturnType<typeof replayFile> {
  let frames: string[] = [];
  return await replayFile(path, frame => frames.push(frame), {
    ...options,
    async afterChunk() {
      if (frames.length > 0) await target.append(frames);
      frames = [];
    },
  });
}

async function finish(target: LogFile): Promise<BackupFacts> {
  await target.seal();
  await target.sync();
  await target.close();
  return await verified(target.path);
}

/**
 * Puts a backup into a directory that has no data, and is made where it does not exist. Everything is verified first, frame by
 * frame; a backup that is cut or changed changes nothing.
 *
 * @throws AppError `not_found`: there is no such file; `conflict`: the directory is not empty; `validation_failed`: the file
 *   is no whole backup; `storage_unavailable`: another process uses the directory
 */
export async function restoreJournal(file: string, directory: string): Promise<BackupFacts> {
  if (!(await exists(file))) throw new AppError("not_found", `Cannot restore ${file}: there is no such file`);
  const facts = await verified(file);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = await DirectoryLock.take(resolve(directory));
  const draft = join(directory, draftName);
  try {
    await requireEmpty(directory);
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await copyFile(file, snapshotPath(draft, 1));
    await (await LogFile.create(logPath(draft, 1))).close();
    await (await openFileStore(draft))[Symbol.asyncDispose]();
    await rename(logPath(draft, 1), logPath(directory, 1));
    // The journal is restored with this step, and empty before it.
    await rename(snapshotPath(draft, 1), snapshotPath(directory, 1));
    await syncDirectory(directory);
    return facts;
  } finally {
    await rm(draft, { recursive: true, force: true });
    await lock.release();
  }
}

const draftName = "restore.draft";
/** Entries that a directory to restore into may have: its lock, files of exports and assets, remains of an interrupted restore. */
const harmless: ReadonlySet<string> = new Set(["lock", "blobs", "lost+found", draftName]);

async function requireEmpty(directory: string): Promise<void> {
  const found = (await readdir(directory)).filter(name => !harmless.has(name));
  if (found.length === 0) return;
  throw new AppError("conflict", `Cannot restore into ${directory}: it is not empty, it has ${found[0]}`);
}

/** Reads a backup to its end. @throws AppError `validation_failed`: it is no whole backup */
async function verified(file: string): Promise<BackupFacts> {
  const refusal = (_path: string, { bytes, line }: DamagePlace, what: string): AppError =>
    new AppError(
      "validation_failed",
      `Cannot use the backup ${file}: it ${what} at line ${line}, byte ${bytes}`,
    );
  const { bytes, frames, digest, sealed } = await replayFile(file, () => {}, { refusal });
  if (!sealed) throw refusal(file, { bytes, line: frames + 2 }, "ends early");
  return { bytes, frames, digest: digest.toString(16).padStart(8, "0") };
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
