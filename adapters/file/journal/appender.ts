/** Appends frames to the log in groups: a file of its own, as the declarations of `grandstand/file` must need no types of Node. */

import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Settle } from "../../memory/frames.ts";
import { type LogFile, lineOverhead } from "./log_file.ts";

/** Most characters of frames that may wait to be written; past it commits are refused with `busy`. */
export const backlogCharsMax = 67_108_864;
/** Most characters of frames that are written, and synced, as one group. */
export const groupCharsMax = 4_194_304;

interface Waiting {
  /** Null: nothing is written, and the frames before are waited for. */
  readonly frame: string | null;
  readonly settle: Settle;
}

interface AppenderOptions {
  readonly syncs: boolean;
  readonly onGroup: (bytes: number) => Promise<void>;
}

export class Appender {
  #log: LogFile;
  readonly #options: AppenderOptions;
  #queue: Waiting[] = [];
  #queuedChars = 0;
  #running: Promise<void> | undefined;
  #failure: AppError | undefined;
  #losses = 0;

  constructor(log: LogFile, options: AppenderOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** The log that frames are appended to. It may only be exchanged from within `onGroup`. */
  get log(): LogFile {
    return this.#log;
  }

  set log(log: LogFile) {
    this.#log = log;
  }

  get losses(): number {
    return this.#losses;
  }

  /** Accepts a frame. @throws AppError `busy` or `storage_unavailable`, see `Journal.append` */
  append(frame: string, settle: Settle): void {
    this.requireSound();
    if (this.#queuedChars > backlogCharsMax) {
      throw new AppError("busy", "Cannot commit: the disk is behind, try again later", {
        retryAfterMs: 1_000,
      });
    }
    this.#queue.push({ frame, settle });
    this.#queuedChars += charsOf(frame);
    this.#running ??= this.#run();
  }

  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Resolves once every frame that was accepted before has settled. */
  async drained(): Promise<void> {
    await new Promise<void>(resolve => {
      if (this.#running === undefined) return resolve();
      this.#queue.push({ frame: null, settle: () => resolve() });
    });
  }

  async sync(): Promise<void> {
    try {
      await this.#log.sync();
    } catch (cause) {
      throw this.#fail(cause);
    }
  }

  /** Cuts the log back to what was kept after a write failed; where that fails too, nothing is accepted any more. */
  async cutBack(cause: unknown): Promise<AppError> {
    try {
      await this.#log.truncate();
    } catch {
      return this.#fail(cause);
    }
    return new AppError("storage_unavailable", `Cannot commit: writing ${this.#log.path} failed`, { cause });
  }

  /** @throws AppError `storage_unavailable` where nothing is accepted any more */
  requireSound(): void {
    if (this.#failure === undefined) return;
    throw new AppError("storage_unavailable", this.#failure.message, { cause: this.#failure });
  }

  async #run(): Promise<void> {
    // Everything that arrives in this turn of the event loop joins the first group.
    await new Promise<void>(resolve => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const group = this.#takeGroup();
      const failure = await this.#write(group);
      if (failure === undefined) for (const { settle } of group) settle();
      else this.#lose(group, failure);
      if (failure === undefined) await this.#options.onGroup(this.#log.bytes);
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let chars = 0;
    let count = 0;
    for (const { frame } of this.#queue) {
      if (count > 0 && chars + charsOf(frame) > groupCharsMax) break;
      chars += charsOf(frame);
      count++;
    }
    this.#queuedChars -= chars;
    return this.#queue.splice(0, count);
  }

  async #write(group: readonly Waiting[]): Promise<AppError | undefined> {
    if (this.#failure !== undefined) return this.#failure;
    const log = this.#log;
    try {
      await log.append(group.flatMap(({ frame }) => (frame === null ? [] : [frame])));
    } catch (cause) {
      return this.cutBack(cause);
    }
    if (!this.#options.syncs) return undefined;
    return log.sync().then(
      () => undefined,
      cause => this.#fail(cause),
    );
  }

  #fail(cause: unknown): AppError {
    this.#failure ??= new AppError(
      "outcome_unknown",
      `Cannot commit: the disk under ${this.#log.path} failed, restart once it is sound again`,
      { cause },
    );
    return this.#failure;
  }

  #lose(group: readonly Waiting[], failure: AppError): void {
    this.#losses++;
    const lost = [...group, ...this.#queue];
    this.#queue = [];
    this.#queuedChars = 0;
    for (const { settle } of lost) settle(failure);
  }
}

function charsOf(frame: string | null): number {
  return frame === null ? 0 : frame.length + lineOverhead;
}
