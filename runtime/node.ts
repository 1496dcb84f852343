/**
 * Node.js: a listener for any `node:http` server, and a server that stops gracefully.
 *
 * @module
 */

import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { ClientInfo, Handler } from "../lib/http/mod.ts";
import {
  baseUrl,
  Gate,
  graceMsDefault,
  hostDefault,
  isHost,
  misaddressed,
  overloaded,
  peerAddress,
  portDefault,
  type Refusal,
  type ServeOptions,
  type Server,
} from "./server/gate.ts";
import { answerUnreadable, expectStream, NodeRequest } from "./server/node_request.ts";
import { type NodeReply, nodeResponse, writeResponse } from "./server/node_response.ts";

export type { ServeOptions, Server } from "./server/gate.ts";
export { type NodeReply, nodeResponse } from "./server/node_response.ts";

const headerBytesMax = 16_384;
const headersMsMax = 10_000;
/** Longest time that a whole request may take to arrive, in ms, unless its body is a stream. */
const requestMsMax = 30_000;
/** Longest time that a connection may be idle, in ms: longer than the 60 s of common load balancers. */
const idleMsMax = 65_000;
/** Longest time for which the rest of a body is discarded after its request was answered, in ms. */
const lingerMsMax = 2_000;
/** Most open connections; the next is closed at once. */
const connectionsMax = 16_384;
const checkMs = 2_000;

type Listen = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** The request of a `node:http` server. */
export interface NodeMessage {
  readonly rawHeaders: readonly string[];
  readonly httpVersionMinor: number;
}

/** Handles requests of a `node:http` server. */
export type NodeListener = (incoming: NodeMessage, outgoing: NodeReply) => void;

/**
 * Creates a listener for any `node:http` server from a handler.
 *
 * @example
 * ```ts
 * createServer(toNodeListener(platform.fetch)).listen(8787, "127.0.0.1");
 * ```
 */
export function toNodeListener(
  handler: Handler,
  options: Pick<ServeOptions, "concurrentMax" | "onError"> = {},
): NodeListener {
  return listener(handler, new Gate(options)) as NodeListener;
}

/** Starts a server. @throws the error of `listen`, such as `EADDRINUSE`. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<Server> {
  const { host = hostDefault, port = portDefault, graceMsMax = graceMsDefault } = options;
  const gate = new Gate(options);
  const server = createServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersMsMax,
    requestTimeout: requestMsMax,
    keepAliveTimeout: idleMsMax,
    connectionsCheckingInterval: checkMs,
    // Answered by the listener, with a body and a request id.
    requireHostHeader: false,
  });
  server.maxConnections = connectionsMax;
  server.on("request", listener(handler, gate));
  server.on("clientError", answerUnreadable);
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  return gate.serverAt(baseUrl(host, address.port), () => stop(server, gate, graceMsMax));
}

function listener(handler: Handler, gate: Gate): Listen {
  const { waitUntil, stopping } = gate;
  function clientOf({ url: target = "/", socket: { remoteAddress } }: IncomingMessage): ClientInfo {
    const framed = true;
    const createResponse = nodeResponse;
    if (remoteAddress === undefined)
      return { target, waitUntil, stopping, framed, expectStream, createResponse };
    const address = peerAddress(remoteAddress);
    return { address, target, waitUntil, stopping, framed, expectStream, createResponse };
  }
  function send(response: Response, incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (gate.draining) outgoing.shouldKeepAlive = false;
    if (!incoming.complete) {
      const isRefusal = response.status >= 400;
      if (isRefusal && !outgoing.shouldKeepAlive)
        return void discarded(incoming).then(() => write(response, outgoing));
      linger(incoming, outgoing);
    }
    write(response, outgoing);
  }
  function write(response: Response, outgoing: ServerResponse): void {
    const sent = writeResponse(response, outgoing);
    if (sent === undefined) gate.leave();
    else sent.catch(() => outgoing.destroy()).finally(() => gate.leave());
  }
  function refuse({ status, headers, body }: Refusal, outgoing: ServerResponse): void {
    if (gate.draining) outgoing.shouldKeepAlive = false;
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  }
  function fail(error: unknown, outgoing: ServerResponse): void {
    gate.leave();
    gate.report(error);
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(500).end();
  }
  return (incoming, outgoing) => {
    if (!isWellAddressed(incoming)) return refuse(misaddressed(), outgoing);
    const { accept, "cache-control": cacheControl } = incoming.headers;
    if (!gate.enter()) return refuse(overloaded({ accept, cacheControl }), outgoing);
    // Callbacks in place of await: measured 5 % of a request on Node 20.
    call(handler, new NodeRequest(incoming, outgoing), clientOf(incoming))
      .then(response => send(response, incoming, outgoing))
      .catch(error => fail(error, outgoing));
  };
}

/** Returns true if the request has one valid `Host`, or none and a version before it was required (RFC 9112, section 3.2). */
function isWellAddressed({ headers: { host }, rawHeaders, httpVersionMinor }: IncomingMessage): boolean {
  if (host === undefined) return httpVersionMinor === 0;
  // Node keeps the first of several.
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count <= 1 && isHost(host);
}

/** Calls a handler, and turns an exception into a rejection so that it does not end the process. */
function call(handler: Handler, request: Request, info: ClientInfo): Promise<Response> {
  try {
    return handler(request, info);
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Discards the rest of a body for a moment before a refusal that closes the connection: Node closes it as soon as the refusal is
 * sent, and a client that is still sending would see a broken pipe in its place.
 */
function discarded(incoming: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, lingerMsMax);
    incoming
      .once("close", resolve)
      .once("end", resolve)
      .once("end", () => clearTimeout(timer));
    incoming.resume();
  });
}

/** Discards the rest of a body for a moment, because closing at once would reset the connection and lose the answer. */
function linger(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.on("finish", () => {
    if (incoming.complete) return;
    const timer = setTimeout(() => incoming.destroy(), lingerMsMax);
    incoming.on("close", () => clearTimeout(timer));
    incoming.resume();
  });
}

function listen(server: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function stop(server: HttpServer, gate: Gate, graceMsMax: number): Promise<boolean> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()));
  const cut = setTimeout(() => server.closeAllConnections(), graceMsMax);
  const finished = await gate.finish(graceMsMax);
  // Slow connections may still be receiving their answers; the others are idle now.
  server.closeIdleConnections();
  await closed;
  clearTimeout(cut);
  return finished;
}
