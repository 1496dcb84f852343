/**
 * One listener of live streams: an event stream as in the HTML standard, section 9.2.
 *
 * A slow listener holds one message in transit and the newest one of each part since, so its memory does not grow.
 *
 * @module
 */

/** A message of a part, the same for all listeners of the part with the same limit. */
export interface LiveMessage {
  /** The visible content; a message with the same content as the last one is not sent. */
  readonly shown: string;
  readonly bytes: Uint8Array;
  /** The shorter message for a listener whose last one showed `from`. */
  readonly change: { readonly from: string; readonly bytes: Uint8Array } | null;
}

const utf8 = new TextEncoder();
const heartbeat = utf8.encode(":\n\n");

/** The fields of an event. `data` must be one line. */
export interface EventFields {
  readonly event: string;
  readonly id: number;
  readonly data: string;
  readonly retryMs?: number;
}

export function encodeEvent({ event, id, data, retryMs }: EventFields): Uint8Array {
  const retry = retryMs === undefined ? "" : `retry: ${retryMs}\n`;
  return utf8.encode(`${retry}event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
}

/** A listener with its stream. */
export class Listener {
  /** Number of entries that it sees of each board. */
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

  /** Moves from one group to another. */
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
