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
      readonly signal: AbortSignal;
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
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: host, port, signal: abort.signal, onListen: () => {} },
    (request, info) => answer(request, info.remoteAddr.hostname),
  );
  let stopped: Promise<boolean> | null = null;
  return {
    url: baseUrl(host, server.addr.port),
    stop() {
      stopped ??= stop(server, { gate, abort, graceMsMax });
      return stopped;
    },
  };
}

interface StopOptions {
  readonly gate: Gate;
  readonly abort: AbortController;
  readonly graceMsMax: number;
}

async function stop(server: DenoServer, { gate, abort, graceMsMax }: StopOptions): Promise<boolean> {
  const closed = server.shutdown();
  const finished = await gate.drain(graceMsMax);
  if (!finished) abort.abort();
  await closed;
  return finished;
}
