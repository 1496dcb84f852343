import { Buffer } from "node:buffer";
import { type FileHandle, open, rm } from "node:fs/promises";
import { encodeLine, endText, headerText } from "./line.ts";

/** A file of lines that is written at its end only. Calls must not overlap. */
export class LogFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #bytes: number;
  #frames: number;

  private constructor(path: string, handle: FileHandle, bytes: number, frames: number) {
    this.path = path;
    this.#handle = handle;
    this.#bytes = bytes;
    this.#frames = frames;
  }

  /** Creates a file with nothing but its header; the path must be free. */
  static async create(path: string): Promise<LogFile> {
    const file = new LogFile(path, await open(path, "wx", 0o600), 0, 0);
    try {
      await file.#write(encodeLine(headerText));
    } catch (error) {
      await file.remove();
      throw error;
    }
    return file;
  }

  /** Opens an existing file to append behind its first `bytes` bytes, which hold `frames` frames. */
  static async resume(path: string, bytes: number, frames: number): Promise<LogFile> {
    return new LogFile(path, await open(path, "r+"), bytes, frames);
  }

  /** The length of what was appended successfully. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Writes encoded lines at the end. If this fails, `truncate` removes the part that may have been written. */
  async append(lines: string, frames: number): Promise<void> {
    await this.#write(lines);
    this.#frames += frames;
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
    await this.#write(encodeLine(endText(this.#frames)));
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

  async #write(text: string): Promise<void> {
    const data = Buffer.from(text);
    for (let written = 0; written < data.length; ) {
      const position = this.#bytes + written;
      written += (await this.#handle.write(data, written, data.length - written, position)).bytesWritten;
    }
    this.#bytes += data.length;
  }
}
