/**
 * One listener of a live board: an event stream as in the HTML standard, section 9.2.
 *
 * A listener that does not keep up holds one message that is on its way and the newest one that came since, so that it costs
 * the same whatever it misses.
 *
 * @module
 */

/** A message as it is sent to all listeners of a board who see the same number of users. */
export interface Frame {
  /** What it shows; a message that shows the same is not sent. */
  readonly shown: string;
  readonly bytes: Uint8Array;
}

const utf8 = new TextEncoder();
const heartbeat = utf8.encode(":\n\n");

/** The message of what a board shows. `data` must be one line. */
export function frameOf(
  { shown, data }: { readonly shown: string; readonly data: string },
  { id, retryMs }: { readonly id: number; readonly retryMs?: number },
): Frame {
  const retry = retryMs === undefined ? "" : `retry: ${retryMs}\n`;
  return { shown, bytes: utf8.encode(`${retry}event: leaderboard\nid: ${id}\ndata: ${data}\n\n`) };
}

/** What a listener is made with. */
export interface ListenerOptions {
  /** Number of users that it sees. */
  readonly limit: number;
  /** Aborted when the server that it came through begins to stop. */
  readonly stopping: AbortSignal | undefined;
  /** Called once, when the listener has gone or was ended. */
  readonly onEnd: (listener: Listener) => void;
}

/** A listener. */
export class Listener {
  readonly limit: number;
  readonly stopping: AbortSignal | undefined;
  readonly stream: ReadableStream<Uint8Array>;
  #home: Set<Listener> | null = null;
  readonly #onEnd: (listener: Listener) => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #shown: string | null = null;
  #waiting: Frame | null = null;

  constructor({ limit, stopping, onEnd }: ListenerOptions) {
    this.limit = limit;
    this.stopping = stopping;
    this.#onEnd = onEnd;
    this.stream = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#controller = controller;
      },
      pull: () => {
        if (this.#waiting !== null) this.#send(this.#waiting);
      },
      cancel: () => this.#finish(),
    });
  }

  /** Moves the listener from the set that it is in to another, which it leaves when it ends. */
  moveTo(home: Set<Listener>): void {
    if (this.#controller === null) return;
    this.#home?.delete(this);
    this.#home = home.add(this);
  }

  /** Sends a message unless it shows what the one before showed; at once, or when the one before has been taken. */
  offer(frame: Frame): void {
    if (frame.shown === this.#shown) this.#waiting = null;
    else if (this.#isReady()) this.#send(frame);
    else this.#waiting = frame;
  }

  /** Sends a sign of life, which clients ignore, where nothing else is on its way. */
  beat(): void {
    if (this.#isReady()) this.#controller?.enqueue(heartbeat);
  }

  /** Ends the stream after what is on its way. */
  end(): void {
    this.#controller?.close();
    this.#finish();
  }

  #isReady(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #send(frame: Frame): void {
    this.#waiting = null;
    this.#shown = frame.shown;
    this.#controller?.enqueue(frame.bytes);
  }

  #finish(): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#waiting = null;
    this.#home?.delete(this);
    this.#onEnd(this);
  }
}
