/**
 * Live boards: server-sent events with the leading entries of a board whenever they change.
 *
 * All listeners of a board in a process share one watcher, whatever their limit and however they name the board. Between two
 * reads each name is resolved again, so that listeners of `current` follow the event, and those of seasons the season.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../errors/mod.ts";
import { Listener } from "./listener.ts";
import { BoardWatcher, type ListenerGroup, type LiveBoard, type WatcherOptions } from "./watcher.ts";

/** Most listeners of a process: fewer than the requests that a server handles at once, as each is one. */
export const liveListenersMax = 2_000;
/** Time between two heartbeats, in ms: shorter than the idle timeouts of servers and load balancers. */
export const liveHeartbeatMs = 15_000;
/** Time after which a refused client tries again, in ms. */
const refusedRetryMs = 5_000;
/** Shortest time after which a disconnected client reconnects, in ms. */
const reconnectMsMin = 1_000;
/** Time over which reconnects are spread, in ms, so that they do not come all at once. */
const reconnectSpreadMs = 4_000;

/** Errors that end the streams of a name: a new request would be refused with the same one. */
const endings: readonly ErrorCode[] = [
  "not_found",
  "validation_failed",
  "missing_api_key",
  "invalid_api_key",
];

/** Streams boards to the listeners of a process. */
export class LiveBoards {
  readonly #options: Pick<WatcherOptions, "clock" | "timer" | "onFailed">;
  readonly #watchers = new Map<string, BoardWatcher>();
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
   * Opens an event stream that begins with the current content of the board: its first `limit` entries.
   *
   * @param stopping Aborted when the server of the request begins to stop.
   * @throws {AppError} `busy`: too many clients listen already, or the platform is about to close; and the errors of locating
   *   and first reading the board.
   */
  async open({
    name,
    locate,
    limit,
    stopping,
  }: Omit<ListenerGroup, "listeners"> & {
    readonly limit: number;
    readonly stopping?: AbortSignal | undefined;
  }): Promise<ReadableStream<Uint8Array>> {
    this.#admit(stopping);
    this.#opening += 1;
    try {
      const watcher = this.#watcherOf(await locate());
      const listen = (): Listener => this.#listen(limit, stopping);
      const { stream } = await watcher.join({ name, locate }, { listen, retryMs: this.#reconnectMs() });
      return stream;
    } finally {
      this.#opening -= 1;
    }
  }

  /** Ends every stream and opens no more. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.stop();
    for (const listener of [...this.#listeners]) listener.end();
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
    return reconnectMsMin + Math.floor(((this.#opened * 0.618_033_988_75) % 1) * reconnectSpreadMs);
  }

  #watcherOf(board: LiveBoard): BoardWatcher {
    const running = this.#watchers.get(board.key);
    if (running !== undefined) return running;
    const { clock, timer, onFailed } = this.#options;
    const watcher = new BoardWatcher(board, {
      clock,
      timer,
      onFailed,
      regroup: from => this.#regroup(from),
      onOver: over => {
        this.#watchers.delete(board.key);
        over.end();
      },
    });
    this.#watchers.set(board.key, watcher);
    return watcher;
  }

  async #regroup(watcher: BoardWatcher): Promise<void> {
    for (const group of [...watcher.groups.values()]) {
      try {
        const board = await group.locate();
        if (board.key === watcher.board.key) watcher.board = board;
        else this.#move(group, watcher, this.#watcherOf(board));
      } catch (error) {
        if (error instanceof AppError && endings.includes(error.code)) {
          for (const listener of [...group.listeners]) listener.end();
        } else this.#options.onFailed(error);
      }
    }
  }

  #move(group: ListenerGroup, from: BoardWatcher, to: BoardWatcher): void {
    from.groups.delete(group.name);
    const { listeners } = to.groupOf(group);
    for (const listener of [...group.listeners]) listener.moveTo(listeners);
    to.ready.then(
      () => to.publish(),
      error => this.#options.onFailed(error),
    );
  }
}

function busy(state: string): AppError {
  return new AppError("busy", `Cannot open the live leaderboard as ${state}`, {
    retryAfterMs: refusedRetryMs,
  });
}
