import { mkdir, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Store } from "../../../lib/storage/contract.ts";
import type { PartitionLister } from "../../../lib/storage/ports.ts";
import type { Journal, JournalClient, Settle } from "../../memory/frames.ts";
import { createMemoryStore, type MemoryStoreOptions } from "../../memory/mod.ts";
import { Appender } from "./appender.ts";
import { DirectoryLock } from "./lock.ts";
import {
  LogFile,
  logPath,
  Manifest,
  partialPath,
  removeSuperseded,
  snapshotPath,
  syncDirectory,
} from "./log_file.ts";
import { recover } from "./recovery.ts";

/**
 * Creates a journal in a directory, which is made where it does not exist and must belong to this journal alone.
 *
 * @throws from `open`: AppError `storage_unavailable` where another process uses the directory or its files are damaged
 */
export function createFileJournal(directory: string, options: FileJournalOptions = {}): Journal {
  return new FileJournal(directory, options);
}

interface Opened {
  readonly lock: DirectoryLock;
  readonly appender: Appender;
  readonly compaction: Compaction;
  readonly timer: SyncTimer | undefined;
}

class FileJournal implements Journal {
  readonly durable: boolean;
  readonly #directory: string;
  readonly #options: FileJournalOptions;
  #opened: Opened | undefined;

  constructor(directory: string, options: FileJournalOptions) {
    this.#directory = resolve(directory);
    this.#options = options;
    this.durable = (options.fsync ?? "always") === "always";
  }

  async open(client: JournalClient): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const lock = await DirectoryLock.take(this.#directory);
    try {
      const recovered = await recover(this.#directory, frame => client.apply(frame));
      if (recovered.tail !== undefined) this.#options.onRecover?.(recovered.tail);
      const { fsync = "always" } = this.#options;
      const manifest = new Manifest(this.#directory);
      const appender: Appender = new Appender(recovered.log, {
        syncs: fsync === "always",
        onGroup: async () => {
          timer?.start();
          await manifest.noteUsed(compaction.generation, appender);
          await compaction.consider();
        },
      });
      const timer = fsync === "interval" ? new SyncTimer(appender) : undefined;
      const compaction = new Compaction(appender, client, {
        ...this.#options,
        ...recovered,
        directory: this.#directory,
      });
      this.#opened = { lock, appender, compaction, timer };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  append(frame: string, settle: Settle): void {
    this.#require().appender.append(frame, settle);
  }

  async ping(): Promise<void> {
    this.#require().appender.requireSound();
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    const { lock, appender, compaction, timer } = opened;
    timer?.stop();
    await appender.idle();
    await compaction.stop();
    try {
      await appender.sync();
    } finally {
      await appender.log.close();
      await lock.release();
    }
  }

  #require(): Opened {
    if (this.#opened !== undefined) return this.#opened;
    throw new AppError("storage_unavailable", `Cannot use the journal in ${this.#directory}: it is not open`);
  }
}

/** Longest time between an acknowledgement and its fsync with `interval`, in ms. */
const syncDelayMs = 1_000;

class SyncTimer {
  readonly #appender: Appender;
  #timer: NodeJS.Timeout | undefined;

  constructor(appender: Appender) {
    this.#appender = appender;
  }

  /** Something was written: sync it in time, unless that is due already. */
  start(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // The appender remembers the failure and reports it to every commit from then on.
      this.#appender.sync().catch(() => {});
    }, syncDelayMs);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Opens a store that lives in memory and is kept in a directory, and resolves once everything kept is there.
 *
 * ```ts
 * await using store = await openFileStore("data", { fsync: "always" });
 * ```
 *
 * @throws AppError `storage_unavailable` where another process uses the directory or its files are damaged
 */
export async function openFileStore(
  directory: string,
  options: FileJournalOptions & Omit<MemoryStoreOptions, "journal"> = {},
): Promise<Store & PartitionLister> {
  const store = createMemoryStore({ ...options, journal: createFileJournal(directory, options) });
  await store.ping();
  return store;
}

/** When appended frames are forced to the disk: `always` before they are acknowledged, `interval` at most a second later, `never` when
 * the operating system likes. With the latter two a crash of the whole system may lose the last commits */
export type FsyncPolicy = "always" | "interval" | "never";

/** A frame that was being written when the process died. It was never acknowledged, and has been cut off. */
export interface RecoveredTail {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
}

/** Options of the file journal. */
export interface FileJournalOptions {
  /** @default "always" */
  readonly fsync?: FsyncPolicy | undefined;
  /** The logs are compacted once they are this many times the size of the last snapshot. @default 2 */
  readonly compactRatio?: number;
  /** The logs are never compacted below this size, in bytes. @default 16777216 */
  readonly compactBytesMin?: number;
  /** Receives a report when a frame that was being written at the last crash has been cut off. */
  readonly onRecover?: (tail: RecoveredTail) => void;
  /** Receives the error of a failed compaction, which is tried again after more commits. */
  readonly onCompactionFailed?: (error: unknown) => void;
}

interface CompactionOptions extends FileJournalOptions {
  readonly directory: string;
  readonly generation: number;
  readonly snapshotBytes: number;
  readonly logBytes: number;
}

class Compaction {
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
