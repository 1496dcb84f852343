/**
 * Reading journal files back at the start.
 *
 * A process that dies while it writes leaves a line cut short at the end of the last log: such a tail was never
 * acknowledged and is cut off. Damage anywhere else is damage to acknowledged data, and refuses the start: a line that was changed,
 * and one before which lines are missing.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { AppError } from "../../../lib/base/errors/mod.ts";
import {
  cutLines,
  decodeLine,
  endText,
  headerText,
  isWholeLine,
  unchainedHeaderText,
  withLineBreak,
} from "./line.ts";
import type { LogEnd } from "./log_file.ts";

/** Frames of this many bytes are applied before other work gets its turn. */
const readBytes = 262_144;

/** Content of one file. */
export interface Replayed extends LogEnd {
  /** Bytes behind the intact lines, which are no line; 0 where the file ends as it should. */
  readonly tornBytes: number;
  /** True if the file was closed. */
  readonly sealed: boolean;
}

export interface ReplayOptions {
  /** Bytes of the file to read, more than 0. @default all */
  readonly bytesMax?: number;
  /** Awaited after each chunk of frames. */
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
export function damaged(path: string, { bytes: offset, line }: DamagePlace, what: string): AppError {
  return new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${path} ${what} at line ${line}, byte ${offset}. Restore its directory from a backup. To give up ` +
      `everything from that byte on instead, keep a copy of the directory, run "truncate -s ${offset} ${path}" and ` +
      "remove the logs with higher numbers.",
  );
}

/** Where a file is damaged. */
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
