/**
 * One listener of a live board: an event stream as in the HTML standard, section 9.2.
 *
 * A slow listener holds one message in transit and the newest one since, so its memory does not grow.
 *
 * @module
 */

/** A message, the same for all listeners of a board with the same limit. */
export interface LiveMessage {
  /** The visible content; a message with the same content as the last one is not sent. */
  readonly shown: string;
  readonly bytes: Uint8Array;
}

const utf8 = new TextEncoder();
const heartbeat = utf8.encode(":\n\n");

/** Encodes a message. `data` must be one line. */
export function encodeMessage(
  { shown, data }: { readonly shown: string; readonly data: string },
  { id, retryMs }: { readonly id: number; readonly retryMs?: number },
): LiveMessage {
  const retry = retryMs === undefined ? "" : `retry: ${retryMs}\n`;
  return { shown, bytes: utf8.encode(`${retry}event: leaderboard\nid: ${id}\ndata: ${data}\n\n`) };
}

/** A listener with its stream. */
export class Listener {
  /** Number of entries that it sees. */
  readonly limit: number;
  /** Aborted when the server of its request begins to stop. */
  readonly stopping: AbortSignal | undefined;
  readonly stream: ReadableStream<Uint8Array>;
  #group: Set<Listener> | null = null;
  readonly #onEnd: (listener: Listener) => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #shown: string | null = null;
  #waiting: LiveMessage | null = null;

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
        if (this.#waiting !== null) this.#send(this.#waiting);
      },
      cancel: () => this.#finish(),
    });
  }

  /** Moves the listener to another group, which it leaves when it ends. */
  moveTo(group: Set<Listener>): void {
    if (this.#controller === null) return;
    this.#group?.delete(this);
    this.#group = group.add(this);
  }

  /** Sends a message unless its content was sent last; at once, or when the one in transit has been taken. */
  offer(message: LiveMessage): void {
    if (message.shown === this.#shown) this.#waiting = null;
    else if (this.#isReady()) this.#send(message);
    else this.#waiting = message;
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

  #send(message: LiveMessage): void {
    this.#waiting = null;
    this.#shown = message.shown;
    this.#controller?.enqueue(message.bytes);
  }

  #finish(): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#waiting = null;
    this.#group?.delete(this);
    this.#onEnd(this);
  }
}
