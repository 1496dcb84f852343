/**
 * Compaction: a snapshot of the state replaces the logs that led to it.
 *
 * Between two groups the log is exchanged for that of the next generation; from then on the snapshot is written beside
 * it, a slice at a time, while commits go on. It counts, by being renamed, only once every commit that it may have seen
 * is durable in the log behind it. A crash at any point leaves the old snapshot with an unbroken chain of logs.
 *
 * @module
 */

import { rename, rm } from "node:fs/promises";
import type { JournalClient } from "../../memory/journal.ts";
import type { Appender } from "./appender.ts";
import { logPath, partialPath, removeSuperseded, snapshotPath, syncDirectory } from "./directory.ts";
import { LogFile } from "./log_file.ts";
import type { FileJournalOptions } from "./options.ts";

/** State of the journal when a compaction starts. */
export interface CompactionOptions extends FileJournalOptions {
  readonly directory: string;
  readonly generation: number;
  readonly snapshotBytes: number;
  readonly logBytes: number;
}

/** Compacts the journal when it has grown enough. */
export class Compaction {
  readonly #appender: Appender;
  readonly #client: JournalClient;
  readonly #options: CompactionOptions;
  #generation: number;
  #snapshotBytes: number;
  /** Bytes of the logs before the present one, back to the last snapshot. */
  #earlierBytes: number;
  #writing: Promise<void> | undefined;
  #stopped = false;

  constructor(appender: Appender, client: JournalClient, options: CompactionOptions) {
    this.#appender = appender;
    this.#client = client;
    this.#options = options;
    this.#generation = options.generation;
    this.#snapshotBytes = options.snapshotBytes;
    this.#earlierBytes = options.logBytes - appender.log.bytes;
  }

  /** The generation of the log that frames are appended to. */
  get generation(): number {
    return this.#generation;
  }

  /** Starts a snapshot if the logs have grown enough. Call it between two groups. */
  async consider(): Promise<void> {
    const { compactRatio = 2, compactBytesMin = 16_777_216 } = this.#options;
    const due = Math.max(compactBytesMin, this.#snapshotBytes * compactRatio);
    const bytes = this.#earlierBytes + this.#appender.log.bytes;
    if (bytes < due || this.#writing !== undefined || this.#stopped) return;
    try {
      await this.#rotate();
    } catch (error) {
      // The next try comes when as much again has been written.
      this.#snapshotBytes = Math.max(this.#snapshotBytes, bytes);
      this.#options.onCompactionFailed?.(error);
      return;
    }
    const frames = this.#client.snapshot();
    this.#writing = this.#write(frames, bytes).finally(() => {
      this.#writing = undefined;
    });
  }

  /** Gives up a snapshot that is being written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#writing;
  }

  async #rotate(): Promise<void> {
    const before = this.#appender.log;
    const next = await LogFile.create(logPath(this.#options.directory, this.#generation + 1));
    try {
      await next.sync();
      await syncDirectory(this.#options.directory);
      await before.seal();
    } catch (error) {
      await this.#appender.cutBack(error);
      await next.remove();
      throw error;
    }
    await this.#appender.sync();
    this.#appender.log = next;
    this.#generation++;
    this.#earlierBytes += before.bytes;
    await before.close();
  }

  async #write(frames: Iterator<string>, bytes: number): Promise<void> {
    const { directory, onCompactionFailed } = this.#options;
    const losses = this.#appender.losses;
    const sound = () => !this.#stopped && this.#appender.losses === losses;
    try {
      const snapshot = await SnapshotFile.write({ directory, generation: this.#generation }, frames, sound);
      try {
        await this.#appender.drained();
        if (!sound()) return await snapshot.discard();
        await this.#appender.sync();
        this.#snapshotBytes = await snapshot.complete();
      } catch (error) {
        await snapshot.discard();
        throw error;
      }
      this.#earlierBytes = 0;
      await removeSuperseded(directory, this.#generation);
    } catch (error) {
      this.#snapshotBytes = Math.max(this.#snapshotBytes, bytes);
      onCompactionFailed?.(error);
    }
  }
}

/** Characters written at once: between two writes everything else gets its turn. */
const sliceChars = 131_072;

/** A snapshot in the making, which will replace the older part of the journal. */
class SnapshotFile {
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

  /** Closes the file durably and lets it count; returns its size in bytes. */
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
    const slice: string[] = [];
    let chars = 0;
    let step = frames.next();
    for (; !step.done; step = frames.next()) {
      slice.push(step.value);
      chars += step.value.length;
      if (chars >= sliceChars) break;
    }
    if (slice.length > 0) await this.#file.append(slice);
    return step.done === true;
  }
}
