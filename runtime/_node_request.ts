import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeRequest as LazyRequest } from "srvx/node";

/**
 * The lazy `Request` of srvx, with one more shortcut: `bytes` reads the socket's chunks, without making a real
 * `Request` and a web stream of them, which would cost more than everything else in a request. On Node 20, whose own
 * `Request` has no `bytes`, it is the only one.
 */
export class NodeRequest extends LazyRequest {
  // The only field: each costs time in every request, and srvx keeps the rest.
  #streamed = false;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    super({ req: incoming, res: outgoing });
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    this.#streamed = true;
    return super.body;
  }

  override get bodyUsed(): boolean {
    const incoming = this.runtime?.node?.req;
    return super.bodyUsed || (incoming?.readableDidRead === true && parsedBody(incoming) === null);
  }

  override bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const incoming = this.runtime?.node?.req as IncomingMessage;
    const parsed = incoming.readableDidRead ? parsedBody(incoming) : null;
    if (parsed !== null) return Promise.resolve(parsed);
    const { method } = incoming;
    const direct = method !== "GET" && method !== "HEAD" && !this.#streamed && !this.bodyUsed;
    return direct ? drain(incoming) : this.#bytesOfStream();
  }

  async #bytesOfStream(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await super.arrayBuffer());
  }
}

/** Returns the body that a middleware such as `express.json()` has read and parsed, as bytes; null: it left none. */
function parsedBody(incoming: object): Uint8Array<ArrayBuffer> | null {
  const body: unknown = "body" in incoming ? incoming.body : undefined;
  if (body === undefined) return null;
  if (Buffer.isBuffer(body)) return new Uint8Array(body);
  return new Uint8Array(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
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
