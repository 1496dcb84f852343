/**
 * Reading journal files back at the start.
 *
 * A process that dies while it writes leaves a line cut short at the end of the last log: such a tail was never
 * acknowledged and is cut off. Damage anywhere else is damage to acknowledged data, and refuses the start.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { AppError } from "../../../lib/errors/mod.ts";
import { cutLines, decodeLine, endText, headerText } from "./line.ts";

/** Frames of this many bytes are applied before other work gets its turn. */
const readBytes = 262_144;

/** Content of one file. */
export interface Replayed {
  /** Length of the intact lines. */
  readonly bytes: number;
  readonly frames: number;
  /** Bytes behind the intact lines, which are no line; 0 where the file ends as it should. */
  readonly tornBytes: number;
  /** True if the file was closed. */
  readonly sealed: boolean;
}

/**
 * Hands every frame of a file to `apply`, in order.
 *
 * @throws AppError `storage_unavailable` where a damaged line has intact ones behind it, or a frame cannot be applied
 */
export async function replayFile(path: string, apply: (frame: string) => void): Promise<Replayed> {
  const reader = new FileReplay(path, apply);
  const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: readBytes });
  for await (const lines of cutLines(chunks)) {
    for (const line of lines) reader.take(line);
  }
  return reader.finish();
}

/** Returns the refusal to start from a damaged file. */
export function damaged(path: string, offset: number, what: string): AppError {
  return new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${path} ${what} at byte ${offset}. Restore its directory from a backup. To give up ` +
      `everything from that byte on instead, keep a copy of the directory, run "truncate -s ${offset} ${path}" and ` +
      "remove the logs with higher numbers.",
  );
}

class FileReplay {
  readonly #path: string;
  readonly #apply: (frame: string) => void;
  #bytes = 0;
  #lines = 0;
  #tornBytes = 0;
  #sealed = false;

  constructor(path: string, apply: (frame: string) => void) {
    this.#path = path;
    this.#apply = apply;
  }

  take(line: Buffer): void {
    const text = decodeLine(line);
    if (text === undefined) {
      this.#tornBytes += line.length;
      return;
    }
    if (this.#tornBytes > 0)
      throw damaged(this.#path, this.#bytes, "is damaged, with intact lines behind it,");
    if (this.#sealed) throw damaged(this.#path, this.#bytes, "goes on behind its end");
    if (this.#lines === 0) this.#header(text);
    else if (text === endText(this.#lines - 1)) this.#sealed = true;
    else this.#frame(text);
    this.#bytes += line.length;
    if (!this.#sealed) this.#lines++;
  }

  finish(): Replayed {
    if (this.#sealed && this.#tornBytes > 0) throw damaged(this.#path, this.#bytes, "goes on behind its end");
    return {
      bytes: this.#bytes,
      frames: Math.max(0, this.#lines - 1),
      tornBytes: this.#tornBytes,
      sealed: this.#sealed,
    };
  }

  #header(text: string): void {
    if (text === headerText) return;
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
