/**
 * One POST to an address that was looked up before.
 *
 * @module
 */

import { type ClientRequest, request as requestOverHttp } from "node:http";
import { request as requestOverHttps } from "node:https";
import type { HostAddress } from "./targets.ts";

/** Most of an answer's body that is read, in bytes; a longer one ends the connection. */
export const answerBytesMax = 65_536;

/** What is posted. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Addresses of the host; no other is connected to, whatever its name means by then. */
  readonly addresses: readonly [HostAddress, ...HostAddress[]];
  readonly signal: AbortSignal;
}

/** What was answered, as far as it matters. */
export interface Answered {
  readonly status: number;
  /** The value of `Retry-After`; null: there is none. */
  readonly retryAfter: string | null;
}

/**
 * Posts, and answers as soon as the status is known: what becomes of the rest of the answer does not matter. Redirects are
 * not followed.
 *
 * @throws {Error} There was no answer; its `code` says why, as Node has it.
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
      const { statusCode = 0, headers: told } = response;
      let bytesLeft = answerBytesMax;
      response.on("error", () => {});
      // A short rest leaves the connection for the next message; a long one is not worth waiting for.
      response.on("data", (chunk: Uint8Array) => {
        bytesLeft -= chunk.length;
        if (bytesLeft < 0) response.destroy();
      });
      resolve({ status: statusCode, retryAfter: told["retry-after"] ?? null });
    });
    request.on("error", reject);
    request.end(bytes);
  });
}
