/**
 * Bun: a server that stops gracefully.
 *
 * @module
 */

import type { Handler } from "../lib/http/mod.ts";
import { fetchServer } from "./server/fetch_server.ts";
import {
  baseUrl,
  Gate,
  graceMsDefault,
  hostDefault,
  portDefault,
  type ServeOptions,
  type Server,
} from "./server/gate.ts";

export type { ServeOptions, Server } from "./server/gate.ts";

const idleSecondsMax = 65;
/** Most bytes of a body that the server reads; the bounds of the routes are lower. */
const bodyBytesMax = 1_073_741_824;

/** Longest time for which the rest of a body is discarded before a refusal that closes the connection, in ms. */
const lingerMsMax = 2_000;

interface BunPeer {
  requestIP(request: Request): { readonly address: string } | null;
}

interface BunServer extends BunPeer {
  readonly port: number;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    readonly fetch: (request: Request, server: BunServer) => Promise<Response>;
  }): BunServer;
};

/** Starts a server. @throws the error of `Bun.serve`, such as `EADDRINUSE`. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<Server> {
  const { host = hostDefault, port = portDefault, graceMsMax = graceMsDefault } = options;
  const gate = new Gate(options);
  const answer = fetchServer(handler, gate, (request, peer: BunPeer) => peer.requestIP(request)?.address);
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: bodyBytesMax,
    fetch: (request, bun) =>
      request.method !== "GET" &&
      /^close$/i.test(request.headers.get("connection") ?? "") &&
      request.body !== null
        ? answerLast(request, request.body, bun, answer)
        : answer(request, bun),
  });
  return gate.serverAt(baseUrl(host, server.port), () => stop(server, gate, graceMsMax));
}

/**
 * Answers the last request of a connection. Bun closes it with the answer, and a client that is still sending would see a broken pipe
 * in place of a refusal: the rest of the body is discarded first.
 */
async function answerLast(
  request: Request,
  sent: ReadableStream<Uint8Array>,
  bun: BunPeer,
  answer: (request: Request, peer: BunPeer) => Promise<Response>,
): Promise<Response> {
  const reader = sent.getReader();
  // Cancelling it leaves the rest to be discarded.
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  const { url, method, headers, signal } = request;
  const init = { method, headers, signal, body, duplex: "half" };
  const response = await answer(new Request(url, init), { requestIP: () => bun.requestIP(request) });
  if (response.status >= 400) await discarded(reader);
  return response;
}

function discarded(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, lingerMsMax);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const next = (): Promise<void> => reader.read().then(({ done }) => (done ? end() : next()), end);
    void next();
  });
}

async function stop(server: BunServer, gate: Gate, graceMsMax: number): Promise<boolean> {
  const closed = server.stop();
  const cut = setTimeout(() => server.stop(true), graceMsMax);
  const finished = await gate.finish(graceMsMax);
  // Slow connections may still be receiving their answers.
  await closed;
  clearTimeout(cut);
  return finished;
}
