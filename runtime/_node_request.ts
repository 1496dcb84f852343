import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeRequest as LazyRequest } from "srvx/node";

/**
 * The lazy `Request` of srvx, with one more shortcut: `arrayBuffer` reads the socket's chunks without making a real
 * `Request` and a web stream of them, which costs more than everything else in a request.
 */
export class NodeRequest extends LazyRequest {
  readonly #incoming: IncomingMessage;
  #drained = false;
  #streamed = false;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    super({ req: incoming, res: outgoing });
    this.#incoming = incoming;
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    this.#streamed = true;
    return super.body;
  }

  override get bodyUsed(): boolean {
    return this.#drained || super.bodyUsed;
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    const { method } = this.#incoming;
    const direct = !(this.#streamed || this.bodyUsed || method === "GET" || method === "HEAD");
    if (!direct) return this.#drained ? Promise.reject(bodyUsedError()) : super.arrayBuffer();
    this.#drained = true;
    return drain(this.#incoming);
  }
}

function bodyUsedError(): TypeError {
  return new TypeError("Cannot read the body: it was read before");
}

function drain(incoming: IncomingMessage): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
    });
    incoming.on("end", () => resolve(join(chunks)));
    incoming.on("close", () => {
      if (!incoming.complete) reject(new TypeError("Cannot read the body: the connection ended"));
    });
    // Without a listener, a reset connection would be an uncaught exception.
    incoming.on("error", reject);
  });
}

function join(chunks: readonly Buffer[]): ArrayBuffer {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}
