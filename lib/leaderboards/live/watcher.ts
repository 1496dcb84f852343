/**
 * Reads one board for all who listen to it.
 *
 * @module
 */

import type { Timer } from "../../http/mod.ts";
import { type Frame, frameOf, type Listener } from "./listener.ts";

/** Shortest time between two reads of one board, in ms. */
export const liveIntervalMs = 1_000;

/** What a board shows at an instant. */
export interface LiveView {
  /** The list of the first `limit` users: what it shows, and the whole answer in one line of JSON. */
  render(limit: number): { readonly shown: string; readonly data: string };
}

/** A season of a board. */
export interface LiveBoard {
  /** The same for the same board and season. */
  readonly key: string;
  read(): Promise<LiveView>;
}

/** Those who named a board in the same way. */
export interface ListenerGroup {
  readonly name: string;
  /** The board that the name stands for now. */
  readonly locate: () => LiveBoard | Promise<LiveBoard>;
  readonly listeners: Set<Listener>;
}

/** What a watcher needs. */
export interface WatcherOptions {
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Called between two reads with the groups; it takes away those whose name now stands for another board. */
  readonly regroup: (watcher: BoardWatcher) => Promise<void>;
  /** Told of reads that failed; the next one comes all the same. */
  readonly onFailed: (error: unknown) => void;
  /** Called when it reads no more: nobody listens any more, or the first read failed. */
  readonly onOver: (watcher: BoardWatcher) => void;
}

/** Reads a board at most once in {@linkcode liveIntervalMs} while somebody listens, and not at all when nobody does. */
export class BoardWatcher {
  board: LiveBoard;
  readonly groups: Map<string, ListenerGroup> = new Map();
  /** Resolves when there is something to show; rejects as the first read does. */
  readonly ready: Promise<void>;
  readonly #options: WatcherOptions;
  #joining = 0;
  #view: { readonly view: LiveView; readonly id: number } | null = null;
  #frames = new Map<number, Frame>();
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

  /** Adds a listener to the group of a name, once there is something to show, and sends it that. */
  async join(group: Omit<ListenerGroup, "listeners">, { listen, retryMs }: Joining): Promise<Listener> {
    this.#joining += 1;
    try {
      await this.ready;
      const listener = listen();
      listener.moveTo(this.groupOf(group).listeners);
      if (this.#view !== null) {
        const { view, id } = this.#view;
        listener.offer(frameOf(view.render(listener.limit), { id, retryMs }));
      }
      return listener;
    } finally {
      this.#joining -= 1;
    }
  }

  /** The group of a name; an empty one is made where there is none. */
  groupOf({ name, locate }: Omit<ListenerGroup, "listeners">): ListenerGroup {
    const group = this.groups.get(name) ?? { name, locate, listeners: new Set() };
    this.groups.set(name, group);
    return group;
  }

  /** Sends every listener what the board shows, where that is not what it was sent last. */
  publish(): void {
    if (this.#view === null) return;
    const { view, id } = this.#view;
    const frames = new Map<number, Frame>();
    for (const { listeners } of this.groups.values()) {
      for (const listener of listeners) {
        const frame =
          frames.get(listener.limit) ?? this.#frame(view.render(listener.limit), listener.limit, id);
        frames.set(listener.limit, frame);
        listener.offer(frame);
      }
    }
    this.#frames = frames;
  }

  /** Ends every listener. */
  end(): void {
    for (const { listeners } of this.groups.values()) for (const listener of [...listeners]) listener.end();
  }

  /** Reads no more. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  #frame(message: ReturnType<LiveView["render"]>, limit: number, id: number): Frame {
    const last = this.#frames.get(limit);
    return last?.shown === message.shown ? last : frameOf(message, { id });
  }

  async #read(): Promise<void> {
    const view = await this.board.read();
    this.#view = { view, id: this.#options.clock() };
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (!this.#isStopped) await this.#options.regroup(this);
      if (this.#isStopped || this.#isAlone()) break;
      try {
        await this.#read();
        this.publish();
      } catch (error) {
        this.#options.onFailed(error);
      }
    }
    this.#options.onOver(this);
  }

  #isAlone(): boolean {
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

/** How a listener joins. */
export interface Joining {
  /** Makes the listener. */
  readonly listen: () => Listener;
  /** After how many ms it is to come back when it loses its connection. */
  readonly retryMs: number;
}
