import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Store } from "../../../lib/storage/contract.ts";
import type { PartitionLister } from "../../../lib/storage/ports.ts";
import type { Journal, JournalClient, Settle } from "../../memory/journal.ts";
import { createMemoryStore, type MemoryStoreOptions } from "../../memory/mod.ts";
import { Appender } from "./appender.ts";
import { Compaction } from "./compaction.ts";
import { DirectoryLock } from "./lock.ts";
import { Manifest } from "./manifest.ts";
import type { FileJournalOptions } from "./options.ts";
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

/** Syncs a log some time after it was written to. */
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

  /** Cancels the pending sync. */
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
