import type { ClientInfo, Handler } from "../lib/http/mod.ts";
import { type Gate, overloaded, peerAddress } from "./_gate.ts";

/** How Bun and Deno call a server: with a real `Request`, for a real `Response`. */
export type FetchServer = (request: Request, address: string | undefined) => Promise<Response>;

/** Puts the gate in front of a handler. */
export function fetchServer(handler: Handler, gate: Gate): FetchServer {
  const unknownClient: ClientInfo = { waitUntil: gate.waitUntil, framed: true };
  return async (request, address) => {
    if (!gate.enter()) {
      const { body, ...init } = overloaded();
      return new Response(body, init);
    }
    try {
      const info =
        address === undefined ? unknownClient : { ...unknownClient, address: peerAddress(address) };
      return await handler(request, info);
    } finally {
      gate.leave();
    }
  };
}
