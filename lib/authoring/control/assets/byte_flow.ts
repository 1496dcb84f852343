/** Bytes of a stream that are looked at, changed or passed on as they arrive. */

export type Size = readonly [width: number, height: number];

/** Passes a file on as it is to be stored. Returns the size of a photo, or null if the file does not say it. */
export type Walk = (flow: ByteFlow) => AsyncGenerator<Uint8Array, Size | null>;

const none = new Uint8Array(0);

/** Reads a stream by counts of bytes. Its memory grows with what is peeked or taken at once, never with the stream. */
export class ByteFlow {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #faultOf: ((error: unknown) => unknown) | undefined;
  #ahead: Uint8Array = none;
  /** The rest of the chunk whose first bytes are at the end of `#ahead`. */
  #behind: Uint8Array = none;

  constructor(body: ReadableStream<Uint8Array>, faultOf?: (error: unknown) => unknown) {
    this.#reader = body.getReader();
    this.#faultOf = faultOf;
  }

  /** Returns the next bytes and leaves them: `count`, or fewer at the end of the stream. */
  async peek(count: number): Promise<Uint8Array> {
    const ahead = await this.available(count);
    return ahead.subarray(0, count);
  }

  /** Returns all bytes that are at hand, and leaves them: at least `count`, or fewer at the end of the stream. */
  async available(count: number): Promise<Uint8Array> {
    if (this.#ahead.length === 0) this.#ahead = await this.#next();
    if (this.#ahead.length >= count) return this.#ahead;
    const joined = new Uint8Array(count);
    joined.set(this.#ahead);
    let length = this.#ahead.length;
    while (length < count) {
      const chunk = await this.#next();
      if (chunk.length === 0) break;
      const part = chunk.subarray(0, count - length);
      joined.set(part, length);
      length += part.length;
      this.#behind = chunk.subarray(part.length);
    }
    this.#ahead = joined.subarray(0, length);
    return this.#ahead;
  }

  /** Takes `count` bytes, or fewer at the end of the stream. The caller may change them. */
  async take(count: number): Promise<Uint8Array> {
    const taken = (await this.peek(count)).slice();
    this.#ahead = this.#ahead.subarray(taken.length);
    return taken;
  }

  /** Passes `count` bytes on in chunks as they arrive, or fewer at the end of the stream. */
  async *pass(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0; ) {
      const chunk = (await this.available(1)).subarray(0, left);
      if (chunk.length === 0) return;
      this.#ahead = this.#ahead.subarray(chunk.length);
      left -= chunk.length;
      yield chunk;
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    await this.#reader.cancel(reason);
  }

  async #next(): Promise<Uint8Array> {
    const behind = this.#behind;
    this.#behind = none;
    if (behind.length > 0) return behind;
    for (;;) {
      const { done, value } = await this.#reader.read().catch((error: unknown) => {
        throw this.#faultOf?.(error) ?? error;
      });
      if (done) return none;
      if (value.length > 0) return value;
    }
  }
}
