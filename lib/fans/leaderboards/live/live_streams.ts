/**
 * Live streams: server-sent events with the content of boards and feeds whenever it changes.
 *
 * All listeners of a source in a process share one watcher, whatever their limit and however they name it. Between two reads
 * each name is resolved again, so that listeners of `current` follow the event, and those of seasons the season.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../../base/errors/mod.ts";
import { encodeEvent, Listener } from "./listener.ts";
import {
  type LivePart,
  type LiveSource,
  liveIntervalMs,
  type PartGroup,
  SourceWatcher,
  type WatcherOptions,
} from "./watcher.ts";

/** Most listeners of a process: fewer than the requests that a server handles at once, as each is one. */
export const liveListenersMax = 2_000;
/** Time between two heartbeats, in ms: shorter than the idle timeouts of servers and load balancers. */
export const liveHeartbeatMs = 15_000;
/** Time between two messages of a source for each listener of the process, in ms. Above 500 listeners it exceeds a second. */
const intervalMsPerListener = 2;
/** Time after which a refused client tries again, in ms. */
const refusedRetryMs = 5_000;
/** Shortest time after which a disconnected client reconnects, in ms. */
const reconnectMsMin = 1_000;
/** Time over which reconnects are spread, in ms, so that they do not come all at once: for few listeners, and for each. */
const reconnectSpreadMs = 4_000;
const reconnectSpreadMsPerListener = 50;
const reconnectSpreadMsMax = 30_000;

/** Errors that end the streams of a name: a new request would be refused with the same one. */
const endings: readonly ErrorCode[] = [
  "not_found",
  "validation_failed",
  "missing_api_key",
  "invalid_api_key",
];

/** What a listener asks for. */
export interface LiveRequest {
  readonly parts: readonly LivePart[];
  /** Number of entries that the listener sees of each board. */
  readonly limit: number;
  /** Builds the first event of the stream from the content of each part. */
  readonly first: (contents: readonly string[]) => { readonly event: string; readonly data: string };
  /** Aborted when the server of the request begins to stop. */
  readonly stopping?: AbortSignal | undefined;
}

/** Streams sources to the listeners of a process. */
export class LiveStreams {
  readonly #options: Pick<WatcherOptions, "clock" | "timer" | "onFailed">;
  readonly #watchers = new Map<string, SourceWatcher>();
  readonly #listeners = new Set<Listener>();
  readonly #servers = new WeakSet<AbortSignal>();
  #opening = 0;
  #opened = 0;
  #isClosed = false;
  #cancelHeartbeat: (() => void) | null = null;

  constructor(options: Pick<WatcherOptions, "clock" | "timer" | "onFailed">) {
    this.#options = options;
  }

  /** Number of listeners. */
  get size(): number {
    return this.#listeners.size;
  }

  /**
   * Opens an event stream that begins with the current content of its parts.
   *
   * @throws {AppError} `busy`: too many clients listen already, or the platform is about to close; and the errors of locating
   *   and first reading a source.
   */
  async open({ parts, limit, first, stopping }: LiveRequest): Promise<ReadableStream<Uint8Array>> {
    this.#admit(stopping);
    this.#opening += 1;
    const held: SourceWatcher[] = [];
    try {
      const entered = await Promise.allSettled(parts.map(part => this.#enter(part, held)));
      const joined = entered.map((result, index) => {
        if (result.status === "rejected") throw result.reason;
        return { part: parts[index] as LivePart, watcher: result.value };
      });
      const listener = this.#listen(limit, stopping);
      const contents = joined.map(({ part, watcher }) => ({ name: part.name, ...watcher.render(limit) }));
      const begin = {
        ...first(contents.map(({ data }) => data)),
        id: this.#options.clock(),
        retryMs: this.#reconnectMs(),
      };
      for (const { part, watcher } of joined) listener.join(watcher.groupOf(part).listeners);
      listener.begin(
        encodeEvent(begin),
        contents.map(({ name, shown }) => [name, shown] as const),
      );
      return listener.stream;
    } finally {
      for (const watcher of held) watcher.release();
      this.#opening -= 1;
    }
  }

  /** Ends every stream and opens no more. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.stop();
    for (const listener of [...this.#listeners]) listener.end();
  }

  /** Returns the watcher of a part once it has read, held until the listener has joined. */
  async #enter(part: LivePart, held: SourceWatcher[]): Promise<SourceWatcher> {
    const watcher = this.#watcherOf(await part.locate());
    watcher.hold();
    held.push(watcher);
    await watcher.ready;
    return watcher;
  }

  #admit(stopping: AbortSignal | undefined): void {
    if (this.#isClosed || stopping?.aborted === true) throw busy("the server stops");
    if (this.#listeners.size + this.#opening >= liveListenersMax) throw busy("too many listen already");
    if (stopping === undefined || this.#servers.has(stopping)) return;
    this.#servers.add(stopping);
    const end = (): void => {
      for (const listener of [...this.#listeners]) if (listener.stopping === stopping) listener.end();
    };
    stopping.addEventListener("abort", end, { once: true });
  }

  #listen(limit: number, stopping: AbortSignal | undefined): Listener {
    if (this.#isClosed || stopping?.aborted === true) throw busy("the server stops");
    const listener = new Listener({ limit, stopping }, ended => this.#forget(ended));
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#beat();
    return listener;
  }

  #forget(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#cancelHeartbeat?.();
    this.#cancelHeartbeat = null;
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#options.timer(() => {
      for (const listener of this.#listeners) listener.beat();
      this.#beat();
    }, liveHeartbeatMs);
  }

  /** Multiples of the golden ratio spread clients evenly, however many there are. */
  #reconnectMs(): number {
    this.#opened += 1;
    const spread = Math.max(reconnectSpreadMs, this.size * reconnectSpreadMsPerListener);
    const share = (this.#opened * 0.618_033_988_75) % 1;
    return reconnectMsMin + Math.floor(share * Math.min(spread, reconnectSpreadMsMax));
  }

  #watcherOf(source: LiveSource): SourceWatcher {
    const running = this.#watchers.get(source.key);
    if (running !== undefined) return running;
    const watcher = new SourceWatcher(source, {
      ...this.#options,
      intervalMs: () => Math.max(liveIntervalMs, this.size * intervalMsPerListener),
      regroup: from => this.#regroup(from),
      onOver: over => {
        this.#watchers.delete(source.key);
        over.end();
      },
    });
    this.#watchers.set(source.key, watcher);
    return watcher;
  }

  async #regroup(watcher: SourceWatcher): Promise<void> {
    for (const group of [...watcher.groups.values()]) {
      try {
        const source = await group.locate();
        if (source.key === watcher.source.key) watcher.source = source;
        else this.#move(group, watcher, this.#watcherOf(source));
      } catch (error) {
        if (error instanceof AppError && endings.includes(error.code)) {
          for (const listener of [...group.listeners]) listener.end();
        } else this.#options.onFailed(error);
      }
    }
  }

  #move(group: PartGroup, from: SourceWatcher, to: SourceWatcher): void {
    from.groups.delete(group.name);
    const { listeners } = to.groupOf(group);
    for (const listener of [...group.listeners]) listener.move(group.listeners, listeners);
    to.ready.then(
      () => to.publish(),
      error => this.#options.onFailed(error),
    );
  }
}

function busy(state: string): AppError {
  return new AppError("busy", `Cannot open the live stream as ${state}`, {
    retryAfterMs: refusedRetryMs,
  });
}
