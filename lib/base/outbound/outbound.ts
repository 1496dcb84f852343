/**
 * Port for reading addresses that callers name.
 *
 * @module
 */

/** A document or file to read. */
export interface OutboundRequest {
  readonly url: string;
  /** Media types that are wanted: `application/json`. */
  readonly accept: string;
  readonly userAgent: string;
  /** Time in ms in which the last byte must have arrived. */
  readonly msMax: number;
}

/** An answer whose body has not been read. */
export interface OutboundAnswer {
  readonly status: number;
  /** Where the last redirect led. */
  readonly url: string;
  /** The media type in lower case without parameters; null: the server names none. */
  readonly mediaType: string | null;
  /** The announced length in bytes; null: none is announced. */
  readonly bytes: number | null;
  /** The bytes as they arrive, without an encoding. Cancel it to end the connection. */
  readonly body: ReadableStream<Uint8Array>;
}

/** A document to post. */
export interface OutboundPost {
  readonly url: string;
  readonly body: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Time in ms in which the last byte of the answer must have arrived. */
  readonly msMax: number;
  /** Longest answer, in bytes. */
  readonly bytesMax: number;
}

/** The answer to a posted document. No other header fields of it are kept. */
export interface OutboundReply extends Pick<OutboundAnswer, "status" | "mediaType"> {
  /** The value of `Retry-After`; null: there is none, or none that can be read. */
  readonly retryAfterMs: number | null;
  readonly text: string;
}

/** Reads addresses that callers name, and nothing in the platform's own network. */
export interface Outbound {
  /**
   * Resolves with the answer at the end of all redirects, whatever its status.
   *
   * @throws {OutboundError} There is none.
   */
  get(request: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * Posts a document and resolves with the answer, whatever its status but a redirect.
   *
   * @throws {OutboundError} There is none, it redirects, or its body is too long, encoded, no UTF-8 or ends early.
   */
  post(request: OutboundPost): Promise<OutboundReply>;
}

/** What was wrong: the form of the address, where it leads, its certificate, the way there, or the answer. */
export type OutboundFault =
  | "url"
  | "address"
  | "tls"
  | "redirects"
  | "connection"
  | "time"
  | "bytes"
  | "text";

/** An address that cannot be read. Its message can be shown: it names no address and no text of a library. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly fault: OutboundFault;

  constructor(fault: OutboundFault, reason: string) {
    super(reason);
    this.fault = fault;
  }
}

/**
 * Reads a body as UTF-8, and ends the connection of a longer one.
 *
 * @throws {OutboundError} It is longer, is no UTF-8, or ends early.
 */
export async function readText({ body, bytes }: OutboundAnswer, bytesMax: number): Promise<string> {
  const tooLong = (): OutboundError =>
    new OutboundError("bytes", `the body is longer than ${bytesMax} bytes`);
  if (bytes !== null && bytes > bytesMax) {
    await body.cancel().catch(() => {});
    throw tooLong();
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      // Leaving the loop cancels the body.
      if (length > bytesMax) throw tooLong();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError("connection", "the body ended early");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      await new Blob(chunks as BlobPart[]).arrayBuffer(),
    );
  } catch {
    throw new OutboundError("text", "the body is no UTF-8");
  }
}
