/** One request to an address that was resolved before. */

import { type ClientRequest, type IncomingMessage, request as requestOverHttp } from "node:http";
import { request as requestOverHttps } from "node:https";
import type { HostAddress } from "./targets.ts";

interface PinnedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with POST. @default none: GET */
  readonly body?: string;
  /** Gives the request a connection of its own, as a pooled one may lead where the request must not. @default false */
  readonly isAlone?: boolean;
  /** The resolved addresses of the host; no other is connected to, even if the name changes meanwhile. */
  readonly addresses: readonly [HostAddress, ...HostAddress[]];
  readonly signal: AbortSignal;
}

/**
 * Sends a request and resolves as soon as the status is known. Redirects are not followed.
 *
 * @throws {Error} There was no response; its `code` is Node's reason.
 */
export async function sendPinned({
  url,
  headers,
  body,
  addresses,
  signal,
  isAlone = false,
}: PinnedRequest): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestOverHttps : requestOverHttp;
    const bytes = body === undefined ? null : new TextEncoder().encode(body);
    const request: ClientRequest = send(url, {
      method: bytes === null ? "GET" : "POST",
      headers: bytes === null ? headers : { ...headers, "content-length": String(bytes.length) },
      signal,
      ...(isAlone ? { agent: false } : {}),
      lookup: (_hostname, options, found) => {
        if (options.all === true) found(null, [...addresses]);
        else found(null, addresses[0].address, addresses[0].family);
      },
    });
    request.once("response", resolve);
    request.on("error", reject);
    request.end(bytes ?? undefined);
  });
}

/** Returns Node's reason why there was no response. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "no connection";
}

/** Longest part of a response body that is read, in bytes; a longer body ends the connection. */
export const answerBytesMax = 65_536;

export interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
}

/**
 * Posts and resolves as soon as the status is known.
 *
 * @throws {Error} There was no response; its `code` is Node's reason.
 */
export async function post(request: PinnedRequest & { readonly body: string }): Promise<Answered> {
  const response = await sendPinned(request);
  const { statusCode = 0, headers } = response;
  let bytesLeft = answerBytesMax;
  response.on("error", () => {});
  // A short rest leaves the connection for the next message; a long one is not worth waiting for.
  response.on("data", (chunk: Uint8Array) => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) response.destroy();
  });
  return { status: statusCode, retryAfter: headers["retry-after"] ?? null };
}
