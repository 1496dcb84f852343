/**
 * One POST to an address that was resolved before.
 *
 * @module
 */

import { type PinnedRequest, sendPinned } from "./request.ts";

/** Longest part of a response body that is read, in bytes; a longer body ends the connection. */
export const answerBytesMax = 65_536;

/** The status and `Retry-After` of a response. */
export interface Answered {
  readonly status: number;
  /** The value of `Retry-After`; null: there is none. */
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
