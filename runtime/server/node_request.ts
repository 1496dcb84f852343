import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { NodeRequest as LazyRequest } from "srvx/node";
import { type Refusal, refusal } from "./gate.ts";

/**
 * The lazy `Request` of srvx with a faster `bytes` and `arrayBuffer`, which read the chunks of the socket. A real `Request` with a
 * web stream would cost more than everything else in a request. Node 20 has no other `bytes`.
 */
export class NodeRequest extends LazyRequest {
  // The only field, because each costs time in every request.
  #stream: ReadableStream<Uint8Array<ArrayBuffer>> | null | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    super({ req: incoming, res: outgoing });
    if (incoming.readableDidRead || incoming.readableEnded) restoreBody(incoming);
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.#stream === undefined) {
      const stream = super.body;
      this.#stream = stream === null ? null : keepingConnection(stream);
    }
    return this.#stream;
  }

  override get bodyUsed(): boolean {
    const incoming = this.runtime?.node?.req;
    return super.bodyUsed || (incoming?.readableDidRead === true && rawBodyOf(incoming) === null);
  }

  override bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const incoming = this.runtime?.node?.req as IncomingMessage;
    const { method } = incoming;
    const isDirect = method !== "GET" && method !== "HEAD" && this.#stream === undefined && !this.bodyUsed;
    if (!isDirect) return this.#bytesOfStream();
    const raw = rawBodyOf(incoming);
    return raw === null ? drain(incoming) : Promise.resolve(new Uint8Array(raw));
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = await this.bytes();
    // A chunk of the socket is a part of a larger buffer, which others use.
    return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
  }

  async #bytesOfStream(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await super.arrayBuffer());
  }
}

/**
 * Passes a body on. Where its reader wants no more, the rest is discarded: cancelling the stream of Node would destroy the connection
 * before the answer.
 */
function keepingConnection(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        const discard = (): Promise<void> => reader.read().then(({ done }) => (done ? undefined : discard()));
        discard().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the bytes of a body that was read before, in the place where srvx looks for them too; null: there are none. */
function rawBodyOf(incoming: object): Buffer | null {
  return "rawBody" in incoming && Buffer.isBuffer(incoming.rawBody) ? incoming.rawBody : null;
}

/** Makes a body readable again that a middleware such as `express.json()` has read and parsed. */
function restoreBody(incoming: IncomingMessage & { rawBody?: unknown; readonly body?: unknown }): void {
  const { body } = incoming;
  if (rawBodyOf(incoming) !== null) return;
  // The middleware makes an object of an empty body too.
  if (!incoming.readableDidRead) incoming.rawBody = Buffer.alloc(0);
  else if (Buffer.isBuffer(body)) incoming.rawBody = body;
  else if (body !== undefined) {
    incoming.rawBody = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  }
}

function drain(incoming: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer<ArrayBuffer>[] = [];
    incoming.on("data", (chunk: Buffer<ArrayBuffer>) => {
      chunks.push(chunk);
    });
    incoming.on("end", () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    });
    incoming.on("close", () => {
      if (!incoming.complete) reject(new TypeError("Cannot read the body: the connection ended"));
    });
    // Without a listener, a reset connection would be an uncaught exception.
    incoming.on("error", reject);
  });
}

/** What the parser of Node refuses, by its error code. All else is 400. */
const unreadable: Readonly<Record<string, Pick<Refusal, "status"> & { readonly title: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, title: "Header fields too large" },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, title: "Body too large" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, title: "Request not complete in time" },
};

/** The last request of a connection with a body that is a stream. */
const streamed = new WeakMap<Duplex, IncomingMessage>();

/** Lets the body of a request take longer to arrive than Node allows. Its route bounds the silence of the client. */
export function expectStream(request: Request): void {
  const { runtime } = request as { readonly runtime?: { readonly node?: { readonly req: IncomingMessage } } };
  const incoming = runtime?.node?.req;
  if (incoming !== undefined) streamed.set(incoming.socket, incoming);
}

/** Answers a request that Node's parser refused with a body and a request id, and closes the connection. */
export function answerUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  // Node reports this once for a request, and leaves it to the listener to close the connection.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && streamed.get(socket)?.complete === false) return;
  const { _httpMessage: response } = socket as { readonly _httpMessage?: { readonly headersSent: boolean } };
  if (!socket.writable || error.code === "ECONNRESET" || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, title } = unreadable[error.code ?? ""] ?? { status: 400, title: "Invalid request" };
  const code = status === 400 || status === 408 ? "validation_failed" : "payload_too_large";
  const message = "Cannot read the request: it is not valid HTTP, too large or not complete in time";
  const { headers, body } = refusal({ status, code, title, message, headers: {} });
  const fields = { ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${lines.join("")}\r\n${body}`);
}
