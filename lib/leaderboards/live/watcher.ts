/**
 * Reads one board for all of its listeners.
 *
 * @module
 */

import type { Timer } from "../../http/mod.ts";
import { encodeMessage, type Listener, type LiveMessage } from "./listener.ts";

/** Shortest time between two reads of one board, in ms. */
export const liveIntervalMs = 1_000;

/** The content of a board at an instant. */
export interface LiveView {
  /** Renders the first `limit` entries: the visible content, and the whole answer in one line of JSON. */
  render(limit: number): { readonly shown: string; readonly data: string };
}

/** A season of a board. */
export interface LiveBoard {
  /** The same for the same board and season. */
  readonly key: string;
  read(): Promise<LiveView>;
}

/** The listeners that named a board in the same way. */
export interface ListenerGroup {
  readonly name: string;
  /** Resolves the board that the name stands for now. */
  readonly locate: () => LiveBoard | Promise<LiveBoard>;
  readonly listeners: Set<Listener>;
}

/** Dependencies of a watcher. */
export interface WatcherOptions {
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Called between two reads; moves groups whose name now stands for another board. */
  readonly regroup: (watcher: BoardWatcher) => Promise<void>;
  /** Called with the error of a failed read; the next one runs all the same. */
  readonly onFailed: (error: unknown) => void;
  /** Called when the watcher has stopped: no listener is left, or the first read failed. */
  readonly onOver: (watcher: BoardWatcher) => void;
}

/** Reads a board at most once in {@linkcode liveIntervalMs}, and only while it has listeners. */
export class BoardWatcher {
  board: LiveBoard;
  readonly groups: Map<string, ListenerGroup> = new Map();
  /** Settles as the first read does. */
  readonly ready: Promise<void>;
  readonly #options: WatcherOptions;
  #joining = 0;
  #view: { readonly view: LiveView; readonly id: number } | null = null;
  #messages = new Map<number, LiveMessage>();
  #wake: () => void = () => {};
  #isStopped = false;

  constructor(board: LiveBoard, options: WatcherOptions) {
    this.board = board;
    this.#options = options;
    this.ready = this.#read();
    this.ready.then(
      () => this.#run(),
      () => options.onOver(this),
    );
  }

  /** Adds a listener to a group after the first read, and sends it the current content. */
  async join(
    group: Omit<ListenerGroup, "listeners">,
    { listen, retryMs }: { readonly listen: () => Listener; readonly retryMs: number },
  ): Promise<Listener> {
    this.#joining += 1;
    try {
      await this.ready;
      const listener = listen();
      listener.moveTo(this.groupOf(group).listeners);
      if (this.#view !== null) {
        const { view, id } = this.#view;
        listener.offer(encodeMessage(view.render(listener.limit), { id, retryMs }));
      }
      return listener;
    } finally {
      this.#joining -= 1;
    }
  }

  /** Returns the group of a name; creates it where there is none. */
  groupOf({ name, locate }: Omit<ListenerGroup, "listeners">): ListenerGroup {
    const group = this.groups.get(name) ?? { name, locate, listeners: new Set() };
    this.groups.set(name, group);
    return group;
  }

  /** Sends the content of the board to every listener whose last message had another one. */
  publish(): void {
    if (this.#view === null) return;
    const { view, id } = this.#view;
    const messages = new Map<number, LiveMessage>();
    for (const { listeners } of this.groups.values()) {
      for (const listener of listeners) {
        const { limit } = listener;
        const message = messages.get(limit) ?? this.#messageOf(view.render(limit), limit, id);
        messages.set(limit, message);
        listener.offer(message);
      }
    }
    this.#messages = messages;
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

  #messageOf(rendered: ReturnType<LiveView["render"]>, limit: number, id: number): LiveMessage {
    const last = this.#messages.get(limit);
    return last?.shown === rendered.shown ? last : encodeMessage(rendered, { id });
  }

  async #read(): Promise<void> {
    const view = await this.board.read();
    this.#view = { view, id: this.#options.clock() };
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
    return this.groups.size === 0 && this.#joining === 0;
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.timer(resolve, liveIntervalMs);
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#isStopped) this.#wake();
    });
  }
}
