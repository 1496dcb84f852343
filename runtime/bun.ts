/**
 * Bun: a server that stops gracefully.
 *
 * @module
 */

import type { Handler } from "../lib/http/mod.ts";
import { fetchServer } from "./_fetch_server.ts";
import {
  baseUrl,
  Gate,
  hostDefault,
  portDefault,
  type ServeOptions,
  type Server,
  stopGraceMsMax,
} from "./_gate.ts";

export { concurrentRequestsMax, type ServeOptions, type Server, stopGraceMsMax } from "./_gate.ts";

/** Longest time that a connection may send and receive nothing, in seconds. */
export const idleSecondsMax = 65;
/** Most bytes of a body that the server reads; the routes' own bounds are lower. */
export const serverBodyBytesMax = 16_777_216;

interface BunServer {
  readonly port: number;
  requestIP(request: Request): { readonly address: string } | null;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** The part of Bun's interface that is used here. */
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
  const { host = hostDefault, port = portDefault, graceMsMax = stopGraceMsMax } = options;
  const gate = new Gate(options);
  const answer = fetchServer(handler, gate);
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: serverBodyBytesMax,
    fetch: (request, bun) => answer(request, () => bun.requestIP(request)?.address),
  });
  let stopped: Promise<boolean> | null = null;
  return {
    url: baseUrl(host, server.port),
    stop() {
      stopped ??= stop(server, gate, graceMsMax);
      return stopped;
    },
  };
}

async function stop(server: BunServer, gate: Gate, graceMsMax: number): Promise<boolean> {
  const closed = server.stop();
  const cut = setTimeout(() => server.stop(true), graceMsMax);
  const finished = await gate.drain(graceMsMax);
  // Answers may still be on their way into a slow connection.
  await closed;
  clearTimeout(cut);
  return finished;
}
