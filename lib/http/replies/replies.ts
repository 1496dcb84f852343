/**
 * The replies that handlers give, and the one Response of each: built from a plain object and a string, so that a runtime
 * may write it without ever making a real `Headers`.
 *
 * @module
 */

import type {
  BareReply,
  EmptyReply,
  JsonReply,
  JsonText,
  JsonTextReply,
  Reply,
  ResponseFactory,
  StreamReply,
} from "../route.ts";

/** Options of the envelope helpers. */
interface EnvelopeOptions<S extends number = number> {
  /** @default 200 */
  readonly status?: S;
  /** @default "OK" */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Builds a JSON reply. */
export function json<const S extends number, const T>(
  status: S,
  value: T,
  headers?: Readonly<Record<string, string>>,
): JsonReply<S, T> {
  return headers === undefined ? { status, json: value } : { status, json: value, headers };
}

const plainJson = { "content-type": "application/json" };

/** Builds a JSON reply from serialized text. `headers` are added to its type; lower-case names. */
export function jsonText<T = unknown>(
  value: JsonText<T>,
  headers?: Readonly<Record<string, string>>,
): JsonTextReply<200, T> {
  return {
    status: 200,
    text: value,
    headers: headers === undefined ? plainJson : { ...plainJson, ...headers },
  };
}

/** Builds a reply in plain text, unless `headers` name another type. */
export function text<const S extends number>(
  status: S,
  value: string,
  headers?: Readonly<Record<string, string>>,
): BareReply<S> {
  return headers === undefined ? { status, text: value } : { status, text: value, headers };
}

/** Builds a reply without a body. */
export function empty<const S extends number = 204>(
  status: S = 204 as S,
  headers?: Readonly<Record<string, string>>,
): EmptyReply<S> {
  return headers === undefined ? { status } : { status, headers };
}

/** Builds a reply whose body is a stream. */
export function stream<const S extends number>(
  status: S,
  body: ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): StreamReply<S> {
  return { status, body, headers };
}

/** Builds the envelope of loyalty and audience: `{message, data}`. */
export function envelope<const T, const S extends number = 200>(
  data: T,
  options: EnvelopeOptions<S> = {},
): JsonReply<S, { readonly message: string; readonly data: T }> {
  return wrap({ message: options.message ?? "OK", data }, options);
}

/** Builds the envelope of identity and location: `{result: 1, message, data}`. */
export function identityEnvelope<const T, const S extends number = 200>(
  data: T,
  options: EnvelopeOptions<S> = {},
): JsonReply<S, { readonly result: 1; readonly message: string; readonly data: T }> {
  return wrap({ result: 1, message: options.message ?? "OK", data }, options);
}

function wrap<const T, S extends number>(
  value: T,
  { status = 200 as S, headers }: EnvelopeOptions<S>,
): JsonReply<S, T> {
  return headers === undefined ? { status, json: value } : { status, json: value, headers };
}

/** Facts of the request and the route that shape the Response. */
interface ResponseContext {
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
