/**
 * The replies that handlers give, and the one Response of each: built from a plain object and a string, so that a runtime
 * may write it without ever making a real `Headers`.
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

interface EnvelopeOptions<S extends number = number> {
  /** @default 200 */
  readonly status?: S;
  /** @default "OK" */
  readonly message?: string;
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

/** The fields `RateLimit-Policy` and `RateLimit`. */
export interface LimitFields {
  readonly policy: string;
  readonly state: string;
}

interface ResponseContext {
  readonly requestId: string;
  /** True for HEAD requests: the Response has the length of the body, and no body. */
  readonly head: boolean;
  /** True if the reply may have its own `Cache-Control`; otherwise it is `no-store`. */
  readonly cacheable: boolean;
  readonly jsonType: string;
  readonly extra: Readonly<Record<string, string>> | null;
  readonly limits: LimitFields | null;
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
  if (context.limits !== null) {
    headers["ratelimit-policy"] = context.limits.policy;
    headers.ratelimit = context.limits.state;
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

export const eventStreamType = "text/event-stream";

export const eventStreamHeaders = {
  "content-type": eventStreamType,
  // A proxy or middleware that compresses would keep events until it has enough of them.
  "cache-control": "no-store, no-transform",
  // Keeps proxies from buffering the stream.
  "x-accel-buffering": "no",
} as const;

type Field = string | null | undefined;

/** Returns true if a request with this `Accept` accepts event streams and not JSON. */
export function acceptsEvents(accept: Field): boolean {
  const accepted = accept?.toLowerCase();
  if (accepted?.includes(eventStreamType) !== true) return false;
  const types = accepted.split(",").map(part => part.split(";", 1)[0]?.trim());
  return types.includes(eventStreamType) && !types.includes("application/json");
}

/** Returns true if an `EventSource` sent the request: it asks caches for nothing, as its standard demands. */
export function isEventSource(accept: Field, cacheControl: Field): boolean {
  return acceptsEvents(accept) && cacheControl?.toLowerCase().includes("no-cache") === true;
}

/** Builds the whole of a stream after which an `EventSource` comes back in `ms`. */
export function emptyEventStream(ms: number): {
  readonly status: 200;
  readonly headers: Record<string, string>;
  readonly text: string;
} {
  // Of whatever page: there is nothing in it, and without the field the browser gives up.
  const headers = { ...eventStreamHeaders, "access-control-allow-origin": "*" };
  return { status: 200, headers, text: `retry: ${ms}\n\n` };
}

export const ownPageFields = {
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
} as const;

/** Fields of a file whose name has a digest of its contents. */
export const pageFileFields = {
  ...ownPageFields,
  "cache-control": "public, max-age=31536000, immutable",
} as const;

interface PageOptions {
  readonly frames?: string;
  readonly media?: string;
  readonly isFraming?: boolean;
  readonly isIsolated?: boolean;
}

/**
 * Returns the fields of a page that runs its own script and style, and talks to its own platform.
 *
 * @param images Sources of images, as in `Content-Security-Policy`.
 * @param options.frames Pages that may show it in a frame. @default 'none'
 * @param options.media Sources of sound and films. @default there are none
 * @param options.isFraming True for a page that shows pages of its platform in frames.
 * @param options.isIsolated True for a page that has no origin, and so no storage, and connects nowhere.
 */
export function pageFields(
  images: string,
  { frames = "'none'", media, isFraming = false, isIsolated = false }: PageOptions = {},
): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'",
    `img-src ${images}`,
    ...(media === undefined ? [] : [`media-src ${media}`]),
    ...(isFraming ? ["frame-src 'self'"] : []),
    ...(isIsolated ? ["sandbox allow-scripts"] : ["connect-src 'self'"]),
    "base-uri 'none'; form-action 'none'",
    `frame-ancestors ${frames}`,
    "require-trusted-types-for 'script'; trusted-types 'none'",
  ].join("; ");
  return {
    ...ownPageFields,
    "content-security-policy": policy,
    "content-type": "text/html; charset=utf-8",
    "cross-origin-opener-policy": "same-origin",
  };
}

/** Returns true for browsers, which ask for HTML before anything else. */
export function prefersHtml(request: Request): boolean {
  const accepted = (request.headers.get("accept") ?? "")
    .toLowerCase()
    .split(",")
    .filter(part => !/;\s*q=0(\.0*)?\s*$/.test(part));
  const types = accepted.map(part => part.split(";", 1)[0]?.trim());
  return (
    types.includes("text/html") && !types.slice(0, types.indexOf("text/html")).includes("application/json")
  );
}

/** Settings of cross-origin access. */
export interface CorsOptions {
  /** Exact origins, or `*` for all. @default "*" */
  readonly origins?: "*" | readonly string[];
  /** Request header fields beside those of the platform and of common tracers. @default [] */
  readonly requestHeaders?: readonly string[];
  /** Response header fields that scripts may read. @default corsResponseHeaders */
  readonly exposedHeaders?: readonly string[];
  /** Time for which a browser may cache a preflight, in seconds. @default 7200 */
  readonly maxAgeSeconds?: number;
}

/** Request header fields that browsers may send. API keys are absent on purpose: they belong on servers. */
export const corsRequestHeaders: readonly string[] = [
  "authorization",
  "baggage",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  "sentry-trace",
  "traceparent",
  "tracestate",
  "x-platform-org-id",
  "x-request-id",
  "x-requested-with",
];

/** Response header fields that scripts may read. */
const corsResponseHeaders: readonly string[] = [
  "etag",
  "idempotent-replayed",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "www-authenticate",
  "x-request-id",
];

const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#A-Z]+$/;

export interface Cors {
  /** Returns the fields of the reply to a request; null if it needs none. */
  readonly answer: (request: Request) => Readonly<Record<string, string>> | null;
  /** Returns further fields of the reply to a preflight from an allowed origin; `methods` as in `Allow`. */
  readonly preflight: (methods: string) => Readonly<Record<string, string>>;
}

/**
 * Prepares the header fields of a configuration.
 *
 * @throws `TypeError` for an origin that no browser would send, such as one with a path or a slash at its end.
 */
export function prepareCors(options: CorsOptions): Cors {
  const { origins = "*", maxAgeSeconds = 7_200 } = options;
  const allowedHeaders = [...corsRequestHeaders, ...(options.requestHeaders ?? [])].join(", ");
  const exposedHeaders = (options.exposedHeaders ?? corsResponseHeaders).join(", ");
  const anyOrigin = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": exposedHeaders,
  };
  const wrong = origins === "*" ? undefined : origins.find(origin => !originShape.test(origin));
  if (wrong !== undefined)
    throw new TypeError(`Cannot allow the origin "${wrong}": expected scheme://host[:port]`);
  // Shared caches must not serve a reply made without an origin to a request that needs the fields.
  const noOrigin = { vary: "origin" };
  const listed = new Map(
    [...(origins === "*" ? [] : origins)].map(origin => [
      origin,
      { ...anyOrigin, "access-control-allow-origin": origin, vary: "origin" },
    ]),
  );
  function answer({ method, headers }: Request): Readonly<Record<string, string>> | null {
    const origin = headers.get("origin");
    // A read has them without an origin too, as a cache may hand the reply to a script of another origin later.
    if (origin === null && method !== "GET" && method !== "HEAD") return null;
    if (origins === "*") return anyOrigin;
    return origin === null ? noOrigin : (listed.get(origin) ?? noOrigin);
  }
  function preflight(methods: string): Readonly<Record<string, string>> {
    return {
      "access-control-allow-methods": methods,
      "access-control-allow-headers": allowedHeaders,
      "access-control-max-age": String(maxAgeSeconds),
    };
  }
  return { answer, preflight };
}
