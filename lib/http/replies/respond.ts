/**
 * Turns a reply into a Response. It is built once from a plain object and a string, so that a runtime can write it without
 * creating `Headers`.
 *
 * @module
 */

import type { Reply, ResponseFactory } from "../route.ts";

/** Facts of the request and the route that shape the Response. */
export interface ResponseContext {
  readonly requestId: string;
  /** True for HEAD requests: the Response has the length of the body, and no body. */
  readonly head: boolean;
  /** True if the reply may have its own `Cache-Control`; otherwise it is `no-store`. */
  readonly cacheable: boolean;
  /** Media type of JSON replies that name none. */
  readonly jsonType: string;
  /** Fields of the platform, such as CORS and rate limits. */
  readonly extra: Readonly<Record<string, string>> | null;
}

/** Characters of a header field (RFC 9110, section 5.5). */
const fieldValueShape = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Creates the runtime's own `Response`. */
export const platformResponse: ResponseFactory = (body, init) => new Response(body, init);

/**
 * Builds the Response.
 *
 * @throws `TypeError` or `RangeError` for an invalid reply. Fields are checked here, because a runtime's own Response may
 * check them only while it writes.
 */
export function respond(reply: Reply, context: ResponseContext, create: ResponseFactory): Response {
  if (!(reply.status >= 200 && reply.status <= 599))
    throw new RangeError(`Cannot answer with ${reply.status}`);
  const bare = reply.status === 204 || reply.status === 205 || reply.status === 304;
  const body = bare ? null : bodyOf(reply);
  const headers: Record<string, string> = {
    "x-request-id": context.requestId,
    "x-content-type-options": "nosniff",
  };
  if (body !== null) headers["content-type"] = typeOf(reply, context.jsonType);
  if (!context.cacheable) headers["cache-control"] = "no-store";
  for (const name in reply.headers) {
    const value = reply.headers[name];
    if (value !== undefined && !fieldValueShape.test(value))
      throw new TypeError(`Cannot send the field ${name}`);
    if (value !== undefined && (context.cacheable || name !== "cache-control")) headers[name] = value;
  }
  for (const name in context.extra) {
    const value = context.extra[name];
    if (value !== undefined)
      headers[name] = name === "vary" && headers.vary ? `${headers.vary}, ${value}` : value;
  }
  if (!context.head) return create(body, { status: reply.status, headers });
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
