/**
 * Cross-origin access (Fetch standard, section 3.2). Credentials travel in headers, never in cookies, so that
 * `Access-Control-Allow-Credentials` is not needed and `*` is safe.
 *
 * @module
 */

/** Who may call from a browser, and with what. */
export interface CorsOptions {
  /** Exact origins, or everybody. @default "*" */
  readonly origins?: "*" | readonly string[];
  /** Request header fields. @default corsRequestHeaders */
  readonly allowedHeaders?: readonly string[];
  /** Response header fields that scripts may read. @default corsResponseHeaders */
  readonly exposedHeaders?: readonly string[];
  /** How long a browser may remember a preflight, in seconds. @default 7200 */
  readonly maxAgeSeconds?: number;
}

/** Request header fields that browsers may send. API keys are missing on purpose: they belong on servers. */
export const corsRequestHeaders: readonly string[] = [
  "authorization",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "x-platform-org-id",
  "x-request-id",
];

/** Response header fields that scripts may read. */
export const corsResponseHeaders: readonly string[] = [
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
  /** Fields of an answer to a request from `origin`, null where it came from no other origin. */
  readonly answer: (origin: string | null) => Readonly<Record<string, string>> | null;
  /** Further fields of the answer to a preflight from an allowed origin; `methods` as in `Allow`. */
  readonly preflight: (methods: string) => Readonly<Record<string, string>>;
}

/**
 * Prepares the header fields of a configuration.
 *
 * @throws `TypeError` for an origin that no browser would send, such as one with a path or a slash at its end.
 */
export function prepareCors(options: CorsOptions): Cors {
  const { origins = "*", maxAgeSeconds = 7_200 } = options;
  const allowedHeaders = (options.allowedHeaders ?? corsRequestHeaders).join(", ");
  const exposedHeaders = (options.exposedHeaders ?? corsResponseHeaders).join(", ");
  const everybody = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": exposedHeaders,
  };
  const wrong = origins === "*" ? undefined : origins.find(origin => !originShape.test(origin));
  if (wrong !== undefined)
    throw new TypeError(`Cannot allow the origin "${wrong}": expected scheme://host[:port]`);
  // A shared cache must not hand an answer made without an origin to one that needs the fields.
  const nobody = { vary: "origin" };
  const listed = new Map(
    [...(origins === "*" ? [] : origins)].map(origin => [
      origin,
      { ...everybody, "access-control-allow-origin": origin, vary: "origin" },
    ]),
  );
  function answer(origin: string | null): Readonly<Record<string, string>> | null {
    if (origins === "*") return origin === null ? null : everybody;
    return origin === null ? nobody : (listed.get(origin) ?? nobody);
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
