/**
 * Compaction: a snapshot of the state replaces the logs that led to it.
 *
 * Between two groups the log is exchanged for that of the next generation; from then on the snapshot is written beside
 * it, a slice at a time, while commits go on. It counts, by being renamed, only once every commit that it may have seen
 * is durable in the log behind it. A crash at any point leaves the old snapshot with an unbroken chain of logs.
 *
 * @module
 */
import type { JournalClient } from "../../memory/journal.ts";
import type { Appender } from "./appender.ts";
import { logPath, removeSuperseded, syncDirectory } from "./directory.ts";
import { LogFile } from "./log_file.ts";
import type { FileJournalOptions } from "./options.ts";
import { SnapshotFile } from "./snapshot_file.ts";

/** Where a compaction starts from. */
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
