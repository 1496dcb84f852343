/**
 * Deno: a server that stops gracefully.
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

interface DenoServer {
  readonly addr: { readonly port: number };
  shutdown(): Promise<void>;
}

/** The part of Deno's interface that is used here. */
declare const Deno: {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly onListen: () => void;
    },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname?: string } },
    ) => Promise<Response>,
  ): DenoServer;
};

/** Starts a server. @throws the error of `Deno.serve`, such as `AddrInUse`. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<Server> {
  const { host = hostDefault, port = portDefault, graceMsMax = stopGraceMsMax } = options;
  const gate = new Gate(options);
  const answer = fetchServer(handler, gate);
  const server = Deno.serve({ hostname: host, port, onListen: () => {} }, (request, info) =>
    answer(request, () => info.remoteAddr.hostname),
  );
  let stopped: Promise<boolean> | null = null;
  return {
    url: baseUrl(host, server.addr.port),
    stop() {
      stopped ??= stop(server, gate, graceMsMax);
      return stopped;
    },
  };
}

async function stop(server: DenoServer, gate: Gate, graceMsMax: number): Promise<boolean> {
  const closed = server.shutdown();
  const finished = await gate.drain(graceMsMax);
  // Deno cannot cut a request once it shuts down: what outlives the grace ends with the process.
  if (finished) await closed;
  return finished;
}
