import { Buffer } from "node:buffer";
import { type FileHandle, open, rm } from "node:fs/promises";
import { digestOf, encodeLine, endText, headerText } from "./line.ts";

/** The end of a file that exists. */
export interface LogEnd {
  /** Length of its intact lines. */
  readonly bytes: number;
  readonly frames: number;
  /** Digest of the last line. */
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

  /** Opens an existing file to append behind its end. */
  static async resume(path: string, end: LogEnd): Promise<LogFile> {
    return new LogFile(path, await open(path, "r+"), end);
  }

  /** The length of what was appended successfully. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Writes frames at the end. If this fails, `truncate` removes the part that may have been written. */
  async append(frames: readonly string[]): Promise<void> {
    await this.#writeLines(frames);
    this.#frames += frames.length;
  }

  /** Cuts off whatever stands behind the lines appended successfully. */
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

  /** Closes and deletes the file. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.path, { force: true });
  }

  /** Lets go of the file. */
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
