/**
 * Reads one source for all of its listeners.
 *
 * @module
 */

import type { Timer } from "../../../http/mod.ts";
import { encodeEvent, type Listener, type LiveMessage } from "./listener.ts";

/** Shortest time between two reads of one source, in ms. */
export const liveIntervalMs = 1_000;

/** What listeners with the same limit see. */
export interface Rendered {
  /** The visible content; nothing is sent while it stays the same. */
  readonly shown: string;
  /** The whole content in one line of JSON. */
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
  /** The event of its messages. */
  readonly event: string;
  /** Resolves the source that the name stands for now. */
  readonly locate: () => LiveSource | Promise<LiveSource>;
  /** Puts content into the data of a message. */
  readonly wrap: (data: string) => string;
}

/** The listeners of a part. */
export interface PartGroup extends LivePart {
  readonly listeners: Set<Listener>;
  /** The last message by limit. */
  messages: ReadonlyMap<number, LiveMessage>;
}

/** Dependencies of a watcher. */
export interface WatcherOptions {
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Returns the time until the next read, in ms. */
  readonly intervalMs: () => number;
  /** Called between two reads; moves groups whose part now stands for another source. */
  readonly regroup: (watcher: SourceWatcher) => Promise<void>;
  /** Called with the error of a failed read; the next one runs all the same. */
  readonly onFailed: (error: unknown) => void;
  /** Called when the watcher has stopped: no listener is left, or the first read failed. */
  readonly onOver: (watcher: SourceWatcher) => void;
}

/** Reads a source at most once in {@linkcode liveIntervalMs}, and only while it has listeners. */
export class SourceWatcher {
  source: LiveSource;
  readonly groups: Map<string, PartGroup> = new Map();
  /** Settles as the first read does. */
  readonly ready: Promise<void>;
  readonly #options: WatcherOptions;
  #holds = 0;
  #view: LiveView | null = null;
  #viewedAt = 0;
  #wake: () => void = () => {};
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

  /** Ends a {@linkcode hold}. */
  release(): void {
    this.#holds -= 1;
  }

  /** Renders the content of a source that has been read. */
  render(limit: number): Rendered {
    return this.#view?.render(limit) ?? { shown: "", data: "null" };
  }

  /** Returns the group of a part; creates it where there is none. */
  groupOf({ name, event, locate, wrap }: LivePart): PartGroup {
    const group = this.groups.get(name) ?? {
      ...{ name, event, locate, wrap },
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

  /** Ends every listener. */
  end(): void {
    for (const { listeners } of this.groups.values()) for (const listener of [...listeners]) listener.end();
  }

  /** Stops reading. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  #messageOf({ event, wrap, messages }: PartGroup, limit: number): LiveMessage {
    const { shown, data, change } = this.render(limit);
    const last = messages.get(limit);
    if (last?.shown === shown) return last;
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
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#isStopped) this.#wake();
    });
  }
}
