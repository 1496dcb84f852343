import type { ClientInfo, Handler } from "../../lib/http/mod.ts";
import { type Gate, isHost, misaddressed, overloaded, peerAddress, type Refusal, senderOf } from "./gate.ts";

/**
 * Puts the gate in front of a handler, for runtimes that serve with `Request` and `Response`. The peer is whatever the runtime
 * passes beside the request; its address is looked up only if a route asks, because that creates an object.
 */
export function fetchServer<Peer>(
  handler: Handler,
  gate: Gate,
  addressOf: (request: Request, peer: Peer) => string | undefined,
): (request: Request, peer: Peer) => Promise<Response> {
  class Client implements ClientInfo {
    readonly framed = true;
    readonly waitUntil = gate.waitUntil;
    readonly stopping = gate.stopping;
    readonly #request: Request;
    readonly #peer: Peer;

    constructor(request: Request, peer: Peer) {
      this.#request = request;
      this.#peer = peer;
    }

    get address(): string | undefined {
      const address = addressOf(this.#request, this.#peer);
      return address === undefined ? undefined : peerAddress(address);
    }
  }
  function leave(response: Response): Response {
    gate.leave();
    if (gate.draining) response.headers.set("connection", "close");
    return response;
  }
  function fail(error: unknown): never {
    gate.leave();
    throw error;
  }
  return (request, peer) => {
    const host = request.headers.get("host");
    if (host !== null && !isHost(host)) return refuse(misaddressed());
    if (!gate.enter()) return refuse(overloaded(senderOf(request)));
    try {
      // Callbacks in place of await: each turn of the microtask queue shows on Bun.
      return handler(request, new Client(request, peer)).then(leave, fail);
    } catch (error) {
      return fail(error);
    }
  };
}

async function refuse({ body, ...init }: Refusal): Promise<Response> {
  return new Response(body, init);
}
