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

/** Longest time that a connection may be idle, in seconds. */
const idleSecondsMax = 65;
/** Most bytes of a body that the server reads; the bounds of the routes are lower. */
const bodyBytesMax = 1_073_741_824;

interface BunServer {
  readonly port: number;
  requestIP(request: Request): { readonly address: string } | null;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** The used part of Bun's interface. */
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
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: bodyBytesMax,
    fetch: fetchServer(handler, gate, (request, bun: BunServer) => bun.requestIP(request)?.address),
  });
  let stopped: Promise<boolean> | null = null;
  return {
    url: baseUrl(host, server.port),
    stop({ drainMs = 0 } = {}) {
      stopped ??= gate.drain(drainMs, () => stop(server, gate, graceMsMax));
      return stopped;
    },
  };
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
