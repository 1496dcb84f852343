/**
 * What the three entrypoints share: how many requests may be in flight, and what a graceful stop waits for.
 *
 * @module
 */

import type { ErrorCode } from "../lib/errors/mod.ts";

/** Most requests that one server works on at once; the next is answered 503 immediately. */
export const concurrentRequestsMax = 4_096;
/** After how many seconds a refused client may come back. */
export const overloadRetrySeconds = 1;
/** Longest time that a graceful stop waits for requests and background work, in ms. */
export const stopGraceMsMax = 10_000;

/** How a server listens. */
export interface ServeOptions {
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port to listen on; 0 takes a free one. @default 8787 */
  readonly port?: number;
  /** Most requests in flight. @default concurrentRequestsMax */
  readonly concurrentMax?: number;
  /** Longest time that `stop` waits before it cuts connections, in ms. @default stopGraceMsMax */
  readonly graceMsMax?: number;
  /** Told of failures that no answer tells of: rejected handlers, and work handed to `waitUntil`. @default console.error */
  readonly onError?: (error: unknown) => void;
}

/** A listening server. */
export interface Server {
  /** Address under which it is reached, without a slash at its end. */
  readonly url: string;
  /**
   * Stops accepting, lets requests in flight and background work finish, then closes every connection. Resolves with
   * whether all of them finished within the grace time. Calling it again gives the same promise.
   */
  stop(): Promise<boolean>;
}

/** Default host. */
export const hostDefault = "127.0.0.1";
/** Default port. */
export const portDefault = 8_787;

/** Counts requests in flight and work in the background. */
export class Gate {
  /** Tells of a failure that no answer can tell of. */
  readonly report: (error: unknown) => void;
  readonly #concurrentMax: number;
  readonly #stopping = new AbortController();
  #pending = 0;
  #inFlight = 0;
  #draining = false;
  #whenIdle: (() => void) | null = null;

  constructor(options: ServeOptions = {}) {
    this.#concurrentMax = options.concurrentMax ?? concurrentRequestsMax;
    this.report = options.onError ?? (error => console.error(error));
  }

  /** Admits a request, to be followed by one `leave`; false where too many are in flight. */
  enter(): boolean {
    if (this.#inFlight >= this.#concurrentMax) return false;
    this.#inFlight++;
    return true;
  }

  /** Aborted when the server begins to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Whether the server is stopping, so that connections should not be kept. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Ends an admitted request. */
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

  /** Begins to drain: resolves with true once nothing is in flight or pending, or with false after `msMax`. */
  drain(msMax: number): Promise<boolean> {
    this.#draining = true;
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

/** An answer that is given before the platform is asked. */
export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The answer to a request that is not admitted: the problem document of `busy`. */
export function overloaded(): Refusal {
  return refusal({
    status: 503,
    code: "busy",
    title: "Service Unavailable",
    message: "Cannot take the request: too many are in flight; retry later",
    headers: { "retry-after": String(overloadRetrySeconds) },
  });
}

/** The answer to a request whose `Host` is no host (RFC 9112, section 3.2). */
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

function refusal({ status, code, title, message, headers }: Problem): Refusal {
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

/** The peer's address; IPv4 inside IPv6, as dual-stack sockets tell it, is unwrapped. */
export function peerAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** The base URL of a server that listens on `host`; a wildcard is reached as localhost. */
export function baseUrl(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "::") return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
