import type { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { AppError } from "../../../lib/base/errors/mod.ts";
import {
  type Chain,
  cutLines,
  decodeLine,
  endText,
  headerText,
  isWholeLine,
  type LogEnd,
  LogFile,
  lineHeaderBytes,
  listChain,
  logPath,
  removeSuperseded,
  requireUsedLog,
  snapshotPath,
  syncDirectory,
  unchainedHeaderText,
  withLineBreak,
} from "./log_file.ts";

/** State from which a recovered journal continues. */
interface Recovered {
  readonly log: LogFile;
  readonly generation: number;
  /** Size of the snapshot that was replayed, and of all logs behind it. */
  readonly snapshotBytes: number;
  readonly logBytes: number;
  readonly tail: { readonly path: string; readonly offset: number; readonly bytes: number } | undefined;
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

/** Frames of this many bytes are applied before other work gets its turn. */
const readBytes = 262_144;

interface Replayed extends LogEnd {
  /** Bytes behind the intact lines, which are no line; 0 where the file ends as it should. */
  readonly tornBytes: number;
  readonly sealed: boolean;
}

export interface ReplayOptions {
  /** Bytes of the file to read, more than 0. @default all */
  readonly bytesMax?: number;
  readonly afterChunk?: () => Promise<void>;
  /** Makes the error for a file that is damaged. @default the refusal to start */
  readonly refusal?: typeof damaged;
}

/**
 * Hands every frame of a file to `apply`, in order.
 *
 * @throws AppError `storage_unavailable` where a damaged line has intact ones behind it, or a frame cannot be applied
 */
export async function replayFile(
  path: string,
  apply: (frame: string) => void,
  { bytesMax = Number.POSITIVE_INFINITY, afterChunk, refusal = damaged }: ReplayOptions = {},
): Promise<Replayed> {
  const reader = new FileReplay(path, apply, refusal);
  const chunks: AsyncIterable<Buffer> = createReadStream(path, {
    highWaterMark: readBytes,
    end: bytesMax - 1,
  });
  for await (const lines of cutLines(chunks)) {
    for (const line of lines) reader.take(line);
    await afterChunk?.();
  }
  return reader.finish();
}

/** Returns the refusal to start from a file that is damaged behind an offset; `line` is the number of the line there, from 1 on. */
function damaged(path: string, { bytes: offset, line }: DamagePlace, what: string): AppError {
  return new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${path} ${what} at line ${line}, byte ${offset}. Restore its directory from a backup. To give up ` +
      `everything from that byte on instead, keep a copy of the directory, run "truncate -s ${offset} ${path}" and ` +
      "remove the logs with higher numbers.",
  );
}

export interface DamagePlace {
  readonly bytes: number;
  readonly line: number;
}

class FileReplay {
  readonly #path: string;
  readonly #apply: (frame: string) => void;
  readonly #refusal: typeof damaged;
  #bytes = 0;
  #lines = 0;
  #tornBytes = 0;
  #tail: Buffer | undefined;
  #sealed = false;
  #isChained = true;
  #digest = 0;

  constructor(path: string, apply: (frame: string) => void, refusal: typeof damaged) {
    this.#path = path;
    this.#apply = apply;
    this.#refusal = refusal;
  }

  take(line: Buffer): void {
    const before = this.#isChained ? this.#digest : 0;
    const decoded = decodeLine(line, before);
    if (decoded === undefined) {
      // A write that was cut short has no line break. In files of earlier releases only an intact line behind it proves damage.
      if (this.#isChained && isWholeLine(line) && !this.#sealed)
        throw this.#damaged("is damaged, or lacks lines,");
      this.#tornBytes += line.length;
      this.#tail = line;
      return;
    }
    const { text, digest } = decoded;
    if (this.#tornBytes > 0) throw this.#damaged("is damaged, with intact lines behind it,");
    if (this.#sealed) throw this.#damaged("goes on behind its end");
    this.#digest = digest;
    if (this.#lines === 0) this.#header(text);
    else if (text === endText(this.#lines - 1)) this.#sealed = true;
    else this.#frame(text);
    this.#bytes += line.length;
    if (!this.#sealed) this.#lines++;
  }

  finish(): Replayed {
    if (this.#sealed && this.#tornBytes > 0) throw this.#damaged("goes on behind its end");
    const tail = this.#isChained ? this.#tail : undefined;
    if (tail !== undefined && decodeLine(withLineBreak(tail), this.#digest) !== undefined) {
      throw this.#damaged("is damaged at its last byte");
    }
    return {
      bytes: this.#bytes,
      frames: Math.max(0, this.#lines - 1),
      digest: this.#digest,
      isChained: this.#isChained,
      tornBytes: this.#tornBytes,
      sealed: this.#sealed,
    };
  }

  #damaged(what: string): AppError {
    return this.#refusal(
      this.#path,
      { bytes: this.#bytes, line: this.#lines + (this.#sealed ? 2 : 1) },
      what,
    );
  }

  #header(text: string): void {
    this.#isChained = text === headerText;
    if (this.#isChained || text === unchainedHeaderText) return;
    throw new AppError(
      "storage_unavailable",
      `Cannot open the journal: ${this.#path} begins with "${text.slice(0, 40)}", expected "${headerText}". ` +
        "Use the release that wrote it, or another directory.",
    );
  }

  #frame(text: string): void {
    try {
      this.#apply(text);
    } catch (cause) {
      const message =
        `Cannot open the journal: ${this.#path} has a frame at byte ${this.#bytes} that this release does not ` +
        "understand. Use the release that wrote it, or another directory.";
      throw new AppError("storage_unavailable", message, { cause });
    }
  }
}
