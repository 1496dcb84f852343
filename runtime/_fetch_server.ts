import type { ClientInfo, Handler } from "../lib/http/mod.ts";
import { type Gate, misaddressed, overloaded, peerAddress, type Refusal } from "./_gate.ts";

/** Finds the peer's address. It is asked for only where a route needs it, because runtimes make a new object for it. */
export type AddressFinder = () => string | undefined;

/** How Bun and Deno call a server: with a real `Request`, for a real `Response`. */
export type FetchServer = (request: Request, findAddress: AddressFinder) => Promise<Response>;

/** What no host holds (RFC 3986, section 3.2.2). Deno writes `Host` before the target to make a URL, where it could become a path. */
const strangeHost = /[^\x21-\x7e]|[/?#\\@"<>]/;

/** Puts the gate in front of a handler. */
export function fetchServer(handler: Handler, gate: Gate): FetchServer {
  return async (request, findAddress) => {
    if (strangeHost.test(request.headers.get("host") ?? "")) return responseOf(misaddressed());
    if (!gate.enter()) return responseOf(overloaded());
    try {
      return await handler(request, new Client(gate, findAddress));
    } finally {
      gate.leave();
    }
  };
}

function responseOf({ body, ...init }: Refusal): Response {
  return new Response(body, init);
}

class Client implements ClientInfo {
  readonly framed = true;
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly stopping: AbortSignal;
  readonly #findAddress: AddressFinder;

  constructor({ waitUntil, stopping }: Gate, findAddress: AddressFinder) {
    this.waitUntil = waitUntil;
    this.stopping = stopping;
    this.#findAddress = findAddress;
  }

  get address(): string | undefined {
    const found = this.#findAddress();
    return found === undefined ? undefined : peerAddress(found);
  }
}
