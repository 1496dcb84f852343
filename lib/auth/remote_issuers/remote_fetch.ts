/**
 * Requests to servers of other operators, which are down, slow or hostile one day.
 *
 * Every answer is bounded in time and size, and no redirect is followed: a server must not choose whom this one calls.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { providerUnavailable } from "../../base/outbound/circuit_breaker.ts";
import { isLoopback } from "../../base/text/mod.ts";

const requestMsMax = 3_000;
const answerBytesMax = 262_144;
const urlCharactersMax = 512;
/** Most causes of a failed request that its error keeps. */
const reasonsMax = 4;

/** Sends a request, like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
/** Creates a signal that aborts after this many ms, like `AbortSignal.timeout`. */
export type Deadline = (ms: number) => AbortSignal;

/** Options of {@linkcode createRemoteFetch}. */
export interface RemoteFetchOptions {
  /** @default fetch */
  readonly fetch?: Fetch;
  /** @default AbortSignal.timeout */
  readonly deadline?: Deadline;
}

/**
 * Sends a GET request. The answer is complete, and its status is 200 or one that refuses the request.
 *
 * @throws {AppError} `provider_unavailable`: no answer within 3 s, or status 429 or 5xx; `provider_error`: a redirect, or more
 * than 256 KiB.
 */
export type RemoteFetch = (url: string, headers?: HeadersInit) => Promise<Response>;

/** Creates a bounded fetch. */
export function createRemoteFetch(options: RemoteFetchOptions = {}): RemoteFetch {
  const { fetch: send = globalFetch, deadline = timeoutSignal } = options;
  return async (url, given = {}) => {
    const headers = { accept: "application/json", ...Object.fromEntries(new Headers(given)) };
    try {
      const response = await send(url, { headers, redirect: "manual", signal: deadline(requestMsMax) });
      const { status } = response;
      if (status === 200) return new Response(await readBounded(response));
      await response.body?.cancel();
      if (status === 429 || status >= 500) throw providerUnavailable(`status ${status}`);
      if (status < 400) throw providerError(`status ${status}`);
      return new Response(null, { status });
    } catch (error) {
      throw error instanceof AppError ? error : providerUnavailable(reasonOf(error));
    }
  };
}

/**
 * Reads an answer as JSON.
 *
 * @throws {AppError} `provider_error`: it is none.
 */
export async function jsonBody(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw providerError("no JSON");
  }
}

/** Creates the error for a provider with an unusable answer. */
export function providerError(cause: unknown): AppError {
  return new AppError("provider_error", "Cannot use the answer of the identity provider: try again later", {
    cause,
  });
}

/**
 * Parses an address that may be requested: https, or plain http on the machine itself, without credentials; undefined
 * for any other. `near` is the address of the document that names it: only a local one may name a local address.
 */
export function remoteUrl(text: string, near?: URL): URL | undefined {
  if (text.length > urlCharactersMax || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || url.hash !== "") return undefined;
  const isLocal = isLoopback(url.hostname);
  if (isLocal && near !== undefined && !isLoopback(near.hostname)) return undefined;
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal) ? url : undefined;
}

const addresses = /\b(https?:\/\/[^\s/?#)]+)[^\s)]*/g;

/** Describes a failed request. Some runtimes repeat its address, whose query may be a token, so only origins stay. */
function reasonOf(error: unknown): Error {
  const reasons: string[] = [];
  for (let at = error; at instanceof Error && reasons.length < reasonsMax; at = at.cause)
    reasons.push(`${at.name}: ${at.message}`);
  return new Error(reasons.join("; caused by ").replace(addresses, "$1"));
}

function globalFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, init);
}

function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(ms);
}

async function readBounded(response: Response): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    length += next.value.length;
    if (length > answerBytesMax) {
      await reader?.cancel();
      throw providerError("too large");
    }
    chunks.push(next.value);
  }
  return new Blob(chunks);
}
