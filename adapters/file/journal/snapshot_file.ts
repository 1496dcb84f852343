import { rename, rm } from "node:fs/promises";
import { partialPath, snapshotPath, syncDirectory } from "./directory.ts";
import { encodeLine } from "./line.ts";
import { LogFile } from "./log_file.ts";

/** Characters written at once: between two writes everything else gets its turn. */
const sliceChars = 131_072;

/** A snapshot beside the journal that it is going to replace a part of. */
export class SnapshotFile {
  readonly #directory: string;
  readonly #generation: number;
  readonly #file: LogFile;

  private constructor(directory: string, generation: number, file: LogFile) {
    this.#directory = directory;
    this.#generation = generation;
    this.#file = file;
  }

  /** Writes the frames, in slices for as long as `wanted` says, to a file that does not count yet. */
  static async write(
    place: { readonly directory: string; readonly generation: number },
    frames: Iterator<string>,
    wanted: () => boolean,
  ): Promise<SnapshotFile> {
    const path = partialPath(place.directory, place.generation);
    await rm(path, { force: true });
    const snapshot = new SnapshotFile(place.directory, place.generation, await LogFile.create(path));
    try {
      for (let done = false; !done && wanted(); ) done = await snapshot.#slice(frames);
    } catch (error) {
      await snapshot.discard();
      throw error;
    }
    return snapshot;
  }

  /** Closes the file durably and lets it count; answers its size in bytes. */
  async complete(): Promise<number> {
    await this.#file.seal();
    await this.#file.sync();
    await this.#file.close();
    await rename(this.#file.path, snapshotPath(this.#directory, this.#generation));
    await syncDirectory(this.#directory);
    return this.#file.bytes;
  }

  /** Removes the file. */
  async discard(): Promise<void> {
    await this.#file.remove();
  }

  async #slice(frames: Iterator<string>): Promise<boolean> {
    let lines = "";
    let count = 0;
    let step = frames.next();
    for (; !step.done; step = frames.next()) {
      lines += encodeLine(step.value);
      count++;
      if (lines.length >= sliceChars) break;
    }
    if (count > 0) await this.#file.append(lines, count);
    return step.done === true;
  }
}
