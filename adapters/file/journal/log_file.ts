import { Buffer } from "node:buffer";
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { AppError } from "../../../lib/base/errors/mod.ts";

export interface LogEnd {
  readonly bytes: number;
  readonly frames: number;
  readonly digest: number;
  /** False in files of earlier releases, in which the digest of each line begins anew. */
  readonly isChained: boolean;
}

/** A file of lines that is written at its end only. Calls must not overlap. */
export class LogFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #isChained: boolean;
  #bytes: number;
  #frames: number;
  #digest: number;

  private constructor(path: string, handle: FileHandle, { bytes, frames, digest, isChained }: LogEnd) {
    this.path = path;
    this.#handle = handle;
    this.#isChained = isChained;
    this.#bytes = bytes;
    this.#frames = frames;
    this.#digest = digest;
  }

  /** Creates a file with nothing but its header; the path must be free. */
  static async create(path: string): Promise<LogFile> {
    const start = { bytes: 0, frames: 0, digest: 0, isChained: true };
    const file = new LogFile(path, await open(path, "wx", 0o600), start);
    try {
      await file.#writeLines([headerText]);
    } catch (error) {
      await file.remove();
      throw error;
    }
    return file;
  }

  static async resume(path: string, end: LogEnd): Promise<LogFile> {
    return new LogFile(path, await open(path, "r+"), end);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Writes frames at the end. If this fails, `truncate` removes the part that may have been written. */
  async append(frames: readonly string[]): Promise<void> {
    await this.#writeLines(frames);
    this.#frames += frames.length;
  }

  async truncate(): Promise<void> {
    await this.#handle.truncate(this.#bytes);
  }

  /** Makes the content durable (`fdatasync`). */
  async sync(): Promise<void> {
    await this.#handle.datasync();
  }

  /** Writes the line that closes the file. If this fails, `truncate` removes the part that may have been written. */
  async seal(): Promise<void> {
    await this.#writeLines([endText(this.#frames)]);
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.path, { force: true });
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #writeLines(texts: readonly string[]): Promise<void> {
    let digest = this.#digest;
    let lines = "";
    for (const text of texts) {
      digest = digestOf(text, this.#isChained ? digest : 0);
      lines += encodeLine(text, digest);
    }
    const data = Buffer.from(lines);
    for (let written = 0; written < data.length; ) {
      const position = this.#bytes + written;
      written += (await this.#handle.write(data, written, data.length - written, position)).bytesWritten;
    }
    this.#bytes += data.length;
    this.#digest = digest;
  }
}

/** Begins every journal file; the number changes with the format. */
export const headerText = "grandstand journal 2";
/** Begins files of earlier releases, in which the digest of each line begins anew. They are read, but never appended to. */
export const unchainedHeaderText = "grandstand journal 1";
const newline = 0x0a;
const space = 0x20;
const sumDigits = 8;
/** Characters of a line beside its text. */
export const lineOverhead: number = sumDigits + 2;

/** Bytes of the line of the header: the sum, a space, the text and the line break. */
export const lineHeaderBytes: number = sumDigits + headerText.length + 2;

/** Returns the digest of a line by its text and the digest of the line before, 0 for the first. */
export function digestOf(text: string | Buffer, before: number): number {
  return crc32(text, before);
}

export function encodeLine(text: string, digest: number): string {
  return `${digest.toString(16).padStart(sumDigits, "0")} ${text}\n`;
}

/** Returns text and digest of a line, or undefined if it is not whole, damaged, or does not follow the line before. */
export function decodeLine(
  line: Buffer,
  before: number,
): { readonly text: string; readonly digest: number } | undefined {
  const end = line.length - 1;
  if (end <= sumDigits || !isWholeLine(line) || line[sumDigits] !== space) return undefined;
  const text = line.subarray(sumDigits + 1, end);
  const digest = digestOf(text, before);
  const isIntact = line.toString("latin1", 0, sumDigits) === digest.toString(16).padStart(sumDigits, "0");
  return isIntact ? { text: text.toString("utf8"), digest } : undefined;
}

/** Tests if a line has its line break: a write that was cut short has none. */
export function isWholeLine(line: Buffer): boolean {
  return line.at(-1) === newline;
}

/** Returns the line with a line break in place of its last byte. */
export function withLineBreak(line: Buffer): Buffer {
  const broken = Buffer.from(line);
  broken[broken.length - 1] = newline;
  return broken;
}

/** Returns the text that closes a file of so many frames, behind which nothing may follow. */
export function endText(frames: number): string {
  return `end ${frames}`;
}

/** Cuts chunks of a file into lines; the last line may lack its line break. */
export async function* cutLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer[], void> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const tail = chunk.subarray(from, at + 1);
      lines.push(rest.length === 0 ? tail : Buffer.concat([...rest, tail]));
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    yield lines;
  }
  if (rest.length > 0) yield [Buffer.concat(rest)];
}

const pattern = /^(log|snapshot)-(\d{10})$/;
const partialSuffix = ".partial";

export interface Chain {
  /** The generation of the newest complete snapshot; undefined if there is none and the journal starts empty. */
  readonly snapshot: number | undefined;
  readonly logs: readonly number[];
}

export function logPath(directory: string, generation: number): string {
  return join(directory, fileName("log", generation));
}

export function snapshotPath(directory: string, generation: number): string {
  return join(directory, fileName("snapshot", generation));
}

/** Returns the file into which the snapshot of a generation is written until it is complete. */
export function partialPath(directory: string, generation: number): string {
  return snapshotPath(directory, generation) + partialSuffix;
}

export async function listChain(directory: string): Promise<Chain> {
  const { logs, snapshots } = await listGenerations(directory);
  const snapshot = snapshots.at(-1);
  return { snapshot, logs: logs.filter(log => snapshot === undefined || log >= snapshot) };
}

/** Removes the files that a snapshot of this generation has made superfluous, and snapshots that were never completed. */
export async function removeSuperseded(directory: string, generation: number): Promise<void> {
  const { logs, snapshots, partials } = await listGenerations(directory);
  const stale = [
    ...logs.filter(log => log < generation).map(log => logPath(directory, log)),
    ...snapshots.filter(snapshot => snapshot < generation).map(snapshot => snapshotPath(directory, snapshot)),
    ...partials.map(partial => join(directory, partial)),
  ];
  for (const path of stale) await rm(path, { force: true });
}

/** Makes the creation, renaming and removal of files in a directory durable (`fsync` of the directory). */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function listGenerations(
  directory: string,
): Promise<{ logs: number[]; snapshots: number[]; partials: string[] }> {
  const names = (await readdir(directory)).sort();
  const numbers = (kind: string) =>
    names.flatMap(name => {
      const parts = pattern.exec(name);
      return parts !== null && parts[1] === kind ? [Number(parts[2])] : [];
    });
  const partials = names.filter(name => name.startsWith("snapshot-") && name.endsWith(partialSuffix));
  return { logs: numbers("log"), snapshots: numbers("snapshot"), partials };
}

function fileName(kind: "log" | "snapshot", generation: number): string {
  return `${kind}-${String(generation).padStart(10, "0")}`;
}

export class Manifest {
  readonly #directory: string;
  #used = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async noteUsed(generation: number, frames: { sync(): Promise<void> }): Promise<void> {
    if (this.#used === generation) return;
    const draft = `${manifestPath(this.#directory)}.draft`;
    try {
      await frames.sync();
      const handle = await open(draft, "w", 0o600);
      try {
        await handle.writeFile(`${JSON.stringify({ used: generation })}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, manifestPath(this.#directory));
      await syncDirectory(this.#directory);
      this.#used = generation;
    } catch {
      await rm(draft, { force: true }).catch(() => {});
    }
  }
}

/**
 * Requires that the log that the manifest names has content, where it is one of the chain that begins with `first`.
 *
 * @throws AppError `storage_unavailable`
 */
export async function requireUsedLog(directory: string, first: number): Promise<void> {
  const used = await usedGeneration(directory);
  if (used < first) return;
  const path = logPath(directory, used);
  const size = await stat(path).then(
    found => found.size,
    () => 0,
  );
  if (size > lineHeaderBytes) return;
  throw new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${path} is empty, but held data before. Restore its directory from a backup. To give up the data ` +
      `instead, keep a copy of the directory and remove ${manifestPath(directory)}.`,
  );
}

/** Returns 0 where there is no manifest, as in directories of earlier releases. */
async function usedGeneration(directory: string): Promise<number> {
  const text = await readFile(manifestPath(directory), "utf8").catch(() => "");
  const digits = /"used":(\d{1,10})/.exec(text)?.[1];
  return digits === undefined ? 0 : Number(digits);
}

function manifestPath(directory: string): string {
  return join(directory, "manifest");
}
