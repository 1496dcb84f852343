/** One event of a stream. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
  readonly retry?: string;
}

/** Reads an event stream. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #text = new TextDecoder();
  #rest = "";
  /** Number of comments so far. */
  comments = 0;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** The next event; null at the end of the stream. */
  async next(): Promise<StreamEvent | null> {
    for (;;) {
      const block = await this.block();
      if (block === null) return null;
      if (!block.startsWith(":")) return parse(block);
    }
  }

  /** The next event or comment; null at the end of the stream. */
  async block(): Promise<string | null> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        if (block.startsWith(":")) this.comments += 1;
        return block;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#rest += this.#text.decode(value, { stream: true });
    }
  }

  /** Leaves the stream. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

function parse(block: string): StreamEvent {
  const fields = block.split("\n").map(line => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  return Object.fromEntries(fields) as unknown as StreamEvent;
}
