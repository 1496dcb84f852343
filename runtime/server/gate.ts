/** The shared part of the three entries: the bound on requests in flight, and graceful stops. */

import type { ErrorCode } from "../../lib/base/errors/mod.ts";
import { errorFacts } from "../../lib/http/errors/failure.ts";
import { emptyEventStream, isEventSource } from "../../lib/http/replies/replies.ts";

/** Default for the most requests in flight; the next is answered 503 immediately. */
const concurrentDefault = 4_096;
/** Seconds after which a refused client may retry. */
const retrySeconds = 1;
/** Default for the longest time that a stop waits for requests and background work, in ms. */
export const graceMsDefault = 10_000;

/** Options of a server. */
export interface ServeOptions {
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port to listen on; 0 takes a free one. @default 8787 */
  readonly port?: number;
  /** Most requests in flight. @default 4_096 */
  readonly concurrentMax?: number;
  /** Longest time that `stop` waits before it closes connections, in ms. @default 10_000 */
  readonly graceMsMax?: number;
  /** Receives failures that no answer reports: rejected handlers, and work passed to `waitUntil`. @default console.error */
  readonly onError?: (error: unknown) => void;
}

interface StopOptions {
  /** Time in ms for which requests are still answered, so that clients move to other servers. @default 0 */
  readonly drainMs?: number;
}

/** A listening server. */
export interface Server {
  /** URL without a slash at its end. */
  readonly url: string;
  /**
   * Goes on answering for `drainMs`, with `Connection: close`. Then stops accepting, waits for requests in flight and background
   * work, and closes every connection. Resolves with true if all finished within the grace time. A second call returns the
   * same promise.
   */
  stop(options?: StopOptions): Promise<boolean>;
}

export const hostDefault = "127.0.0.1";
export const portDefault = 8_787;

export class Gate {
  /** Reports a failure that no answer can report. */
  readonly report: (error: unknown) => void;
  readonly #concurrentMax: number;
  readonly #stopping = new AbortController();
  #pending = 0;
  #inFlight = 0;
  #draining = false;
  #whenIdle: (() => void) | null = null;

  constructor(options: ServeOptions = {}) {
    this.#concurrentMax = options.concurrentMax ?? concurrentDefault;
    this.report = options.onError ?? (error => console.error(error));
  }

  /** Admits a request, to be followed by one `leave`; false where too many are in flight. */
  enter(): boolean {
    if (this.#inFlight >= this.#concurrentMax) return false;
    this.#inFlight++;
    return true;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Returns the server behind the gate: a stop asks clients to close their connections, with each answer, before it closes. */
  serverAt(url: string, close: () => Promise<boolean>): Server {
    let stopped: Promise<boolean> | null = null;
    const drain = (ms: number): Promise<boolean> => {
      this.#draining = true;
      return ms === 0 ? close() : new Promise(resolve => setTimeout(resolve, ms)).then(close);
    };
    return {
      url,
      stop({ drainMs = 0 } = {}) {
        stopped ??= drain(drainMs);
        return stopped;
      },
    };
  }

  /** True while the server stops and connections should not be kept. */
  get draining(): boolean {
    return this.#draining;
  }

  leave(): void {
    this.#inFlight--;
    this.#settle();
  }

  /** Keeps the process from stopping before the work is done. */
  readonly waitUntil = (work: Promise<unknown>): void => {
    this.#pending++;
    work.catch(this.report).finally(() => {
      this.#pending--;
      this.#settle();
    });
  };

  /** Ends live streams. Resolves with true once nothing is in flight or pending, or with false after `msMax`. */
  finish(msMax: number): Promise<boolean> {
    this.#stopping.abort();
    if (this.#isIdle()) return Promise.resolve(true);
    return new Promise(resolve => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#whenIdle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #isIdle(): boolean {
    return this.#inFlight === 0 && this.#pending === 0;
  }

  #settle(): void {
    if (this.#whenIdle !== null && this.#isIdle()) this.#whenIdle();
  }
}

/** An answer that does not reach the platform. */
export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface Sender {
  readonly accept: string | null | undefined;
  readonly cacheControl: string | null | undefined;
}

export function senderOf({ headers }: Request): Sender {
  return { accept: headers.get("accept"), cacheControl: headers.get("cache-control") };
}

export function overloaded(sender: Sender): Refusal {
  return busy("Cannot take the request: too many are in flight; retry later", sender);
}

/** Creates the answer to a request that comes before the platform is ready. */
export function starting(sender: Sender): Refusal {
  return busy("Cannot take the request: the server is starting; retry later", sender);
}

function busy(message: string, { accept, cacheControl }: Sender): Refusal {
  if (isEventSource(accept, cacheControl)) {
    const { status, headers, text: body } = emptyEventStream(retrySeconds * 1_000);
    return { status, headers, body };
  }
  const { status, title } = errorFacts.busy;
  return refusal({ status, code: "busy", title, message, headers: { "retry-after": String(retrySeconds) } });
}

/** Characters of no host (RFC 3986, section 3.2.2). Bun and Deno join `Host` and target to a URL, where they could start a path. */
const strangeHost = /[^\x21-\x7e]|[/?#\\@"<>]/;

export function isHost(value: string): boolean {
  return !strangeHost.test(value);
}

/** Creates the answer to a request whose `Host` is invalid (RFC 9112, section 3.2). */
export function misaddressed(): Refusal {
  return refusal({
    status: 400,
    code: "validation_failed",
    title: "Invalid request",
    message: "Cannot take the request: its Host must be a host name or address, with a port or without",
    headers: {},
  });
}

interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly title: string;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Creates an answer that is a problem document with a request id. */
export function refusal({ status, code, title, message, headers }: Problem): Refusal {
  const requestId = crypto.randomUUID();
  const type = `/problems/${code}`;
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...headers,
      "x-request-id": requestId,
    },
    body: JSON.stringify({ type, title, status, detail: message, code, message, requestId }),
  };
}

/** Normalizes the address of a peer: dual-stack sockets report IPv4 inside IPv6. */
export function peerAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

export function baseUrl(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "::") return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
