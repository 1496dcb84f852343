/**
 * One POST to an address that was resolved before.
 *
 * @module
 */

import { type ClientRequest, request as requestOverHttp } from "node:http";
import { request as requestOverHttps } from "node:https";
import type { HostAddress } from "./targets.ts";

/** Longest part of a response body that is read, in bytes; a longer body ends the connection. */
export const answerBytesMax = 65_536;

/** A request. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The resolved addresses of the host; no other is connected to, even if the name changes meanwhile. */
  readonly addresses: readonly [HostAddress, ...HostAddress[]];
  readonly signal: AbortSignal;
}

/** The status and `Retry-After` of a response. */
export interface Answered {
  readonly status: number;
  /** The value of `Retry-After`; null: there is none. */
  readonly retryAfter: string | null;
}

/**
 * Posts and resolves as soon as the status is known. Redirects are not followed.
 *
 * @throws {Error} There was no response; its `code` is Node's reason.
 */
export async function post({ url, headers, body, addresses, signal }: Post): Promise<Answered> {
  return await new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestOverHttps : requestOverHttp;
    const bytes = new TextEncoder().encode(body);
    const request: ClientRequest = send(url, {
      method: "POST",
      headers: { ...headers, "content-length": String(bytes.length) },
      signal,
      lookup: (_hostname, options, found) => {
        if (options.all === true) found(null, [...addresses]);
        else found(null, addresses[0].address, addresses[0].family);
      },
    });
    request.once("response", response => {
      const { statusCode = 0, headers } = response;
      let bytesLeft = answerBytesMax;
      response.on("error", () => {});
      // A short rest leaves the connection for the next message; a long one is not worth waiting for.
      response.on("data", (chunk: Uint8Array) => {
        bytesLeft -= chunk.length;
        if (bytesLeft < 0) response.destroy();
      });
      resolve({ status: statusCode, retryAfter: headers["retry-after"] ?? null });
    });
    request.on("error", reject);
    request.end(bytes);
  });
}
