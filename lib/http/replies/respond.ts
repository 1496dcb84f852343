/**
 * From a reply to a Response, built exactly once from a plain object and a string, so that a runtime may write it without
 * ever making a real `Headers`.
 *
 * @module
 */

import type { Reply, ResponseFactory } from "../route.ts";

/** What an answer carries beside its reply. */
export interface Envelope {
  readonly requestId: string;
  /** Whether the request was a HEAD: the answer has the length of the body, and no body. */
  readonly head: boolean;
  /** Whether the reply may carry its own `Cache-Control`; otherwise it is `no-store`. */
  readonly cacheable: boolean;
  /** Media type of JSON whose reply names none. */
  readonly jsonType: string;
  /** Fields of the platform, such as CORS and rate limits. */
  readonly extra: Readonly<Record<string, string>> | null;
}

/** What a header field may hold (RFC 9110, section 5.5). */
const fieldValueShape = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The Response of the platform. */
export const platformResponse: ResponseFactory = (body, init) => new Response(body, init);

/**
 * Builds the Response.
 *
 * @throws `TypeError` or `RangeError` for a reply that no Response can be made of. Fields are checked here, because a
 * runtime's own Response may notice only while it writes.
 */
export function respond(reply: Reply, envelope: Envelope, create: ResponseFactory): Response {
  if (!(reply.status >= 200 && reply.status <= 599))
    throw new RangeError(`Cannot answer with ${reply.status}`);
  const bare = reply.status === 204 || reply.status === 205 || reply.status === 304;
  const body = bare ? null : bodyOf(reply);
  const headers: Record<string, string> = {
    "x-request-id": envelope.requestId,
    "x-content-type-options": "nosniff",
  };
  if (body !== null) headers["content-type"] = typeOf(reply, envelope.jsonType);
  if (!envelope.cacheable) headers["cache-control"] = "no-store";
  for (const name in reply.headers) {
    const value = reply.headers[name];
    if (value !== undefined && !fieldValueShape.test(value))
      throw new TypeError(`Cannot send the field ${name}`);
    if (value !== undefined && (envelope.cacheable || name !== "cache-control")) headers[name] = value;
  }
  for (const name in envelope.extra) {
    const value = envelope.extra[name];
    if (value !== undefined)
      headers[name] = name === "vary" && headers.vary ? `${headers.vary}, ${value}` : value;
  }
  if (!envelope.head) return create(body, { status: reply.status, headers });
  if (typeof body === "string") headers["content-length"] = String(new TextEncoder().encode(body).byteLength);
  else body?.cancel().catch(() => {});
  return create(null, { status: reply.status, headers });
}

function bodyOf(reply: Reply): string | ReadableStream<Uint8Array> | null {
  if (reply.json !== undefined) return JSON.stringify(reply.json);
  return reply.text ?? reply.body ?? null;
}

function typeOf(reply: Reply, jsonType: string): string {
  if (reply.json !== undefined) return jsonType;
  return reply.text === undefined ? "application/octet-stream" : "text/plain; charset=utf-8";
}
