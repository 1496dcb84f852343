/**
 * Cross-origin access (Fetch standard, section 3.2). Credentials travel in headers, never in cookies, so that
 * `Access-Control-Allow-Credentials` is not needed and `*` is safe.
 *
 * @module
 */

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

/** Prepared header fields. */
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
