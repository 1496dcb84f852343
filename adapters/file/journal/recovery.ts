import { rm, stat } from "node:fs/promises";
import { AppError } from "../../../lib/base/errors/mod.ts";
import {
  type Chain,
  listChain,
  logPath,
  removeSuperseded,
  snapshotPath,
  syncDirectory,
} from "./directory.ts";
import { lineHeaderBytes } from "./line.ts";
import { LogFile } from "./log_file.ts";
import { requireUsedLog } from "./manifest.ts";
import { damaged, replayFile } from "./replay.ts";

/** A frame that was being written when the process died. It was never acknowledged, and has been cut off. */
export interface RecoveredTail {
  /** The file that was cut. */
  readonly path: string;
  /** Its new length. */
  readonly offset: number;
  /** Number of bytes that were cut off. */
  readonly bytes: number;
}

/** State from which a recovered journal continues. */
export interface Recovered {
  /** The log to append to, and its generation. */
  readonly log: LogFile;
  readonly generation: number;
  /** Size of the snapshot that was replayed, and of all logs behind it. */
  readonly snapshotBytes: number;
  readonly logBytes: number;
  readonly tail: RecoveredTail | undefined;
}

/**
 * Replays the journal of a directory into `apply`, removes the remains of interrupted work, and opens the last log.
 *
 * @throws AppError `storage_unavailable` where the files are damaged
 */
export async function recover(directory: string, apply: (frame: string) => void): Promise<Recovered> {
  const chain = await listChain(directory);
  const first = chain.snapshot ?? 1;
  if (chain.snapshot !== undefined) await removeSuperseded(directory, chain.snapshot);
  const snapshotBytes =
    chain.snapshot === undefined ? 0 : await replayWhole(snapshotPath(directory, chain.snapshot), apply);
  requireUnbroken(directory, chain);
  await requireUsedLog(directory, first);
  const logs = await withoutUnused(directory, chain.logs);
  let logBytes = 0;
  for (const generation of logs.slice(0, -1)) {
    const path = logPath(directory, generation);
    logBytes += await replayWhole(path, apply);
  }
  const last = await resumeLast(directory, logs.at(-1) ?? first, apply);
  await syncDirectory(directory);
  return { ...last, snapshotBytes, logBytes: logBytes + last.log.bytes };
}

/** Replays a file that was closed, and returns its size. */
async function replayWhole(path: string, apply: (frame: string) => void): Promise<number> {
  const { bytes, frames, sealed } = await replayFile(path, apply);
  if (!sealed) throw damaged(path, { bytes, line: frames + 2 }, "ends early");
  return bytes;
}

/** Removes logs at the end that hold no frame: the process died, or the disk was full, before they were used. */
async function withoutUnused(directory: string, logs: readonly number[]): Promise<readonly number[]> {
  const used = [...logs];
  for (let last = used.at(-1); used.length > 1 && last !== undefined; last = used.at(-1)) {
    const path = logPath(directory, last);
    if ((await stat(path)).size > lineHeaderBytes) break;
    await rm(path);
    used.pop();
  }
  return used;
}

/** Requires that no file is missing in the chain. @throws AppError `storage_unavailable` */
export function requireUnbroken(directory: string, { snapshot, logs }: Chain): void {
  const first = snapshot ?? 1;
  const expected = snapshot === undefined ? logs : [first, ...logs.slice(1)];
  for (const [index, generation] of expected.entries()) {
    if (generation === first + index && logs[index] === generation) continue;
    throw new AppError(
      "storage_unavailable",
      `Cannot open the journal: ${logPath(directory, first + index)} is missing. Restore the directory from a backup.`,
    );
  }
}

async function resumeLast(
  directory: string,
  generation: number,
  apply: (frame: string) => void,
): Promise<Pick<Recovered, "log" | "generation" | "tail">> {
  const path = logPath(directory, generation);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { log: await LogFile.create(path), generation, tail: undefined };
  const replayed = await replayFile(path, apply);
  const { bytes, tornBytes, sealed, isChained } = replayed;
  if (sealed) return { ...(await beginNext(directory, generation)), tail: undefined };
  if (bytes === 0) {
    // Not even the header was written.
    await rm(path);
    return { log: await LogFile.create(path), generation, tail: undefined };
  }
  const log = await LogFile.resume(path, replayed);
  await log.truncate();
  const tail = tornBytes > 0 ? { path, offset: bytes, bytes: tornBytes } : undefined;
  // A log of an earlier release ends here, and the next one begins in today's format.
  if (!isChained) await log.seal();
  await log.sync();
  if (isChained) return { log, generation, tail };
  await log.close();
  return { ...(await beginNext(directory, generation)), tail };
}

async function beginNext(
  directory: string,
  generation: number,
): Promise<Pick<Recovered, "log" | "generation">> {
  const next = generation + 1;
  return { log: await LogFile.create(logPath(directory, next)), generation: next };
}
