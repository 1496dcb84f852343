/**
 * Live streams: server-sent events with the content of boards and feeds whenever it changes.
 *
 * All listeners of a source in a process share one watcher, whatever their limit and however they name it. Between two reads
 * each name is resolved again, so that listeners of `current` follow the event, and those of seasons the season.
 */

import { AppError, type ErrorCode } from "../base/errors/mod.ts";
import type { Timer } from "./mod.ts";

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
const reconnectSpreadMsPerListener = 100;
const reconnectSpreadMsMax = 30_000;

/** Errors that end the streams of a name: a new request would be refused with the same one. */
const endings: readonly ErrorCode[] = [
  "not_found",
  "validation_failed",
  "missing_api_key",
  "invalid_api_key",
  "invalid_token",
  "token_expired",
];

export interface LiveRequest {
  readonly parts: readonly LivePart[];
  /** Number of entries that the listener sees of each board. */
  readonly limit: number;
  /** Builds the first event of the stream from the content of each part. */
  readonly first: (contents: readonly string[]) => { readonly event: string; readonly data: string };
  /** Aborted when the server of the request begins to stop. */
  readonly stopping?: AbortSignal | undefined;
}

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

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns the number of listeners of a source. */
  listenersOf(key: string): number {
    let count = 0;
    for (const { listeners } of this.#watchers.get(key)?.groups.values() ?? []) count += listeners.size;
    return count;
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

  /** Has a source read soon, as it has changed. */
  wake(key: string): void {
    this.#watchers.get(key)?.wake();
  }

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

/** Shortest time between two reads of one source, in ms. */
export const liveIntervalMs = 1_000;

/** What listeners with the same limit see. */
export interface Rendered {
  /** The visible content; nothing is sent while it stays the same. */
  readonly shown: string;
  readonly data: string;
  /** What has changed since the content `from`, where that is less than the whole. */
  readonly change?: { readonly from: string; readonly data: string } | undefined;
}

/** The content of a source at an instant. */
export interface LiveView {
  /** Renders the first `limit` entries of a board; other content is the same for each limit. */
  render(limit: number): Rendered;
}

/** A season of a board, or a feed. */
export interface LiveSource {
  /** The same for the same source. */
  readonly key: string;
  /** @param last The view that was read before; null at first. */
  read(last: LiveView | null): Promise<LiveView>;
}

/** A part of a stream: a source under the name that a client gave it. */
export interface LivePart {
  /** The same for the same part of different streams. */
  readonly name: string;
  readonly event: string;
  /** Resolves the source that the name stands for now. */
  readonly locate: () => LiveSource | Promise<LiveSource>;
  readonly wrap: (data: string) => string;
}

interface PartGroup extends LivePart {
  readonly listeners: Set<Listener>;
  /** The last message by limit. */
  messages: ReadonlyMap<number, LiveMessage>;
}

interface WatcherOptions {
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Returns the time until the next read, in ms. */
  readonly intervalMs: () => number;
  /** Called between two reads; moves groups whose part now stands for another source. */
  readonly regroup: (watcher: SourceWatcher) => Promise<void>;
  readonly onFailed: (error: unknown) => void;
  /** Called when the watcher has stopped: no listener is left, or the first read failed. */
  readonly onOver: (watcher: SourceWatcher) => void;
}

/** Reads a source at most once in {@linkcode liveIntervalMs}, and only while it has listeners. */
class SourceWatcher {
  source: LiveSource;
  readonly groups: Map<string, PartGroup> = new Map();
  /** Settles as the first read does. */
  readonly ready: Promise<void>;
  readonly #options: WatcherOptions;
  #holds = 0;
  #view: LiveView | null = null;
  #viewedAt = 0;
  #changedAt = 0;
  #endPause: () => void = () => {};
  #isStopped = false;

  constructor(source: LiveSource, options: WatcherOptions) {
    this.source = source;
    this.#options = options;
    this.ready = this.#read();
    this.ready.then(
      () => this.#run(),
      () => options.onOver(this),
    );
  }

  /** Keeps the watcher running for a listener that is about to join. */
  hold(): void {
    this.#holds += 1;
  }

  release(): void {
    this.#holds -= 1;
  }

  render(limit: number): Rendered {
    return this.#view?.render(limit) ?? { shown: "", data: "null" };
  }

  /** Returns the group of a part; creates it where there is none. */
  groupOf({ name, event, locate, wrap }: LivePart): PartGroup {
    const group = this.groups.get(name) ?? {
      name,
      event,
      locate,
      wrap,
      listeners: new Set(),
      messages: new Map(),
    };
    this.groups.set(name, group);
    return group;
  }

  /** Sends the content of the source to every listener whose last message had another one. */
  publish(): void {
    for (const group of this.groups.values()) {
      const messages = new Map<number, LiveMessage>();
      for (const listener of group.listeners) {
        const { limit } = listener;
        const message = messages.get(limit) ?? this.#messageOf(group, limit);
        messages.set(limit, message);
        listener.offer(group.name, message);
      }
      group.messages = messages;
    }
  }

  end(): void {
    for (const { listeners } of this.groups.values()) for (const listener of [...listeners]) listener.end();
  }

  /** Ends the pause, unless listeners had a change in its time. */
  wake(): void {
    const { clock, intervalMs } = this.#options;
    if (clock() - this.#changedAt >= intervalMs()) this.#endPause();
  }

  stop(): void {
    this.#isStopped = true;
    this.#endPause();
  }

  #messageOf({ event, wrap, messages }: PartGroup, limit: number): LiveMessage {
    const { shown, data, change } = this.render(limit);
    const last = messages.get(limit);
    if (last?.shown === shown) return last;
    this.#changedAt = this.#viewedAt;
    const encode = (text: string): Uint8Array => encodeEvent({ event, id: this.#viewedAt, data: wrap(text) });
    return {
      shown,
      bytes: encode(data),
      change: change === undefined ? null : { from: change.from, bytes: encode(change.data) },
    };
  }

  async #read(): Promise<void> {
    this.#view = await this.source.read(this.#view);
    this.#viewedAt = this.#options.clock();
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (!this.#isStopped) await this.#options.regroup(this);
      if (this.#isStopped || this.#isUnused()) break;
      try {
        await this.#read();
        this.publish();
      } catch (error) {
        this.#options.onFailed(error);
      }
    }
    this.#options.onOver(this);
  }

  #isUnused(): boolean {
    for (const [name, { listeners }] of this.groups) if (listeners.size === 0) this.groups.delete(name);
    return this.groups.size === 0 && this.#holds === 0;
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.timer(resolve, this.#options.intervalMs());
      this.#endPause = () => {
        cancel();
        resolve();
      };
      if (this.#isStopped) this.#endPause();
    });
  }
}

/** A message of a part, the same for all listeners of the part with the same limit. */
interface LiveMessage {
  /** The visible content; a message with the same content as the last one is not sent. */
  readonly shown: string;
  readonly bytes: Uint8Array;
  /** The shorter message for a listener whose last one showed `from`. */
  readonly change: { readonly from: string; readonly bytes: Uint8Array } | null;
}

const utf8 = new TextEncoder();
const heartbeat = utf8.encode(":\n\n");

/** The fields of an event. `data` must be one line. */
interface EventFields {
  readonly event: string;
  readonly id: number;
  readonly data: string;
  readonly retryMs?: number;
}

function encodeEvent({ event, id, data, retryMs }: EventFields): Uint8Array {
  const retry = retryMs === undefined ? "" : `retry: ${retryMs}\n`;
  return utf8.encode(`${retry}event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
}

class Listener {
  readonly limit: number;
  /** Aborted when the server of its request begins to stop. */
  readonly stopping: AbortSignal | undefined;
  readonly stream: ReadableStream<Uint8Array>;
  readonly #groups = new Set<Set<Listener>>();
  readonly #onEnd: (listener: Listener) => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** The content that was sent last, by part. */
  readonly #shown = new Map<string, string>();
  readonly #waiting = new Map<string, LiveMessage>();

  /** @param onEnd Called once, when the listener has left or was ended. */
  constructor(
    { limit, stopping }: Pick<Listener, "limit" | "stopping">,
    onEnd: (listener: Listener) => void,
  ) {
    this.limit = limit;
    this.stopping = stopping;
    this.#onEnd = onEnd;
    this.stream = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#controller = controller;
      },
      pull: () => {
        for (const [part, message] of this.#waiting) return this.#send(part, message);
      },
      cancel: () => this.#finish(),
    });
  }

  /** Joins a group, which it leaves when it ends. */
  join(group: Set<Listener>): void {
    if (this.#controller === null) return;
    this.#groups.add(group.add(this));
  }

  move(from: Set<Listener>, to: Set<Listener>): void {
    from.delete(this);
    this.#groups.delete(from);
    this.join(to);
  }

  /** Sends the first event, which shows the content of each part. */
  begin(event: Uint8Array, shown: Iterable<readonly [part: string, content: string]>): void {
    for (const [part, content] of shown) this.#shown.set(part, content);
    this.#controller?.enqueue(event);
  }

  /** Sends a message of a part unless its content was sent last; at once, or when the one in transit has been taken. */
  offer(part: string, message: LiveMessage): void {
    if (message.shown === this.#shown.get(part)) this.#waiting.delete(part);
    else if (this.#isReady()) this.#send(part, message);
    else this.#waiting.set(part, message);
  }

  /** Sends a heartbeat, which clients ignore, unless a message is in transit. */
  beat(): void {
    if (this.#isReady()) this.#controller?.enqueue(heartbeat);
  }

  /** Ends the stream after the message in transit. */
  end(): void {
    this.#controller?.close();
    this.#finish();
  }

  #isReady(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #send(part: string, { shown, bytes, change }: LiveMessage): void {
    this.#waiting.delete(part);
    // A listener that has missed a message gets the whole content.
    const isNext = change !== null && change.from === this.#shown.get(part);
    this.#shown.set(part, shown);
    this.#controller?.enqueue(isNext ? change.bytes : bytes);
  }

  #finish(): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#waiting.clear();
    for (const group of this.#groups) group.delete(this);
    this.#onEnd(this);
  }
}
