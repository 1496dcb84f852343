/**
 * Deno: a server that stops gracefully.
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

interface DenoPeer {
  readonly remoteAddr: { readonly hostname?: string };
}

interface DenoServer {
  readonly addr: { readonly port: number };
  shutdown(): Promise<void>;
}

declare const Deno: {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly onListen: () => void;
    },
    handler: (request: Request, peer: DenoPeer) => Promise<Response>,
  ): DenoServer;
};

/** Starts a server. @throws the error of `Deno.serve`, such as `AddrInUse`. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<Server> {
  const { host = hostDefault, port = portDefault, graceMsMax = graceMsDefault } = options;
  const gate = new Gate(options);
  const server = Deno.serve(
    { hostname: host, port, onListen: () => {} },
    fetchServer(handler, gate, (_, { remoteAddr }: DenoPeer) => remoteAddr.hostname),
  );
  return gate.serverAt(baseUrl(host, server.addr.port), () => stop(server, gate, graceMsMax));
}

async function stop(server: DenoServer, gate: Gate, graceMsMax: number): Promise<boolean> {
  const closed = server.shutdown();
  const finished = await gate.finish(graceMsMax);
  // Deno cannot abort a request once it shuts down: the rest ends with the process.
  if (finished) await closed;
  return finished;
}
