import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Refusal, refusal } from "./gate.ts";

/** What Node's parser refuses, by its error code. All else is 400. */
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
