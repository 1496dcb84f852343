/** Route tables, checked once and prepared for the request path. */

import type { GenericSchema } from "valibot";
import type { ErrorFamily } from "../errors/failure.ts";
import { families, problemFamily } from "../errors/failure.ts";
import { rateLimitPolicy } from "../rate_limit/policies.ts";
import { bodyBytesMaxDefault } from "../requests/body.ts";
import type { AnyRoute, Area, BodySpec, Guard, RateLimit, SecurityScheme } from "../route.ts";
import { type PathReader, pathReader } from "../routing/route_index.ts";

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly route: AnyRoute;
  readonly family: ErrorFamily;
  readonly readPath: PathReader;
  /** Authentication scheme for `WWW-Authenticate`. */
  readonly challenge: "Bearer" | "ApiKey";
  /** Null: the body is not read. */
  readonly body: PreparedBody | null;
  /** Null: nothing is counted. */
  readonly limit: RateLimit<unknown> | null;
}

export interface PreparedBody {
  readonly schema: GenericSchema;
  /** True where the body may be absent: its schema is an `optional(…)` or `nullish(…)`. */
  readonly optional: boolean;
  readonly bytesMax: number;
  readonly msMax: number | undefined;
  readonly mediaTypes: readonly string[];
  readonly isStreamed: boolean;
}

/**
 * Prepares the routes of all areas.
 *
 * @throws `TypeError` for a mistake in a table. The router refuses malformed and repeated paths.
 */
export function prepareEndpoints(areas: readonly Area[], basePath: string): readonly Endpoint[] {
  const operations = new Set<string>();
  const schemes = new Map<string, SecurityScheme>();
  return areas.flatMap(area =>
    area.routes.map(route => {
      if (!/^[a-z][a-z0-9_-]*$/.test(area.name))
        throw new TypeError(`Cannot route area "${area.name}": its name must match [a-z][a-z0-9_-]*`);
      const where = `${route.method} ${route.path}`;
      if (operations.has(route.operation)) {
        throw new TypeError(`Cannot route ${where}: operation ${route.operation} exists already`);
      }
      operations.add(route.operation);
      checkRoute(route, where);
      checkSchemes(route, schemes, where);
      return prepare(area, route, basePath);
    }),
  );
}

/** Returns a function that picks the error family of a path without a route by the literal beginnings of the routes. */
export function familyFinder(
  endpoints: readonly Endpoint[],
  basePath: string,
): (path: string) => ErrorFamily {
  const byPrefix = new Map<string, ErrorFamily>();
  for (const { route, family } of endpoints) {
    const [first = "", second = ":"] = route.path.split("/").slice(1);
    const prefix = second.startsWith(":") ? `/${first}` : `/${first}/${second}`;
    if (!byPrefix.has(prefix)) byPrefix.set(prefix, family);
  }
  return path => {
    const [first = "", second = ""] = path.slice(basePath.length).split("/", 3).slice(1);
    return byPrefix.get(`/${first}/${second}`) ?? byPrefix.get(`/${first}`) ?? problemFamily;
  };
}

function entriesOf(schema: GenericSchema): Readonly<Record<string, unknown>> | null {
  const entries = "entries" in schema ? schema.entries : null;
  return typeof entries === "object" && entries !== null ? { ...entries } : null;
}

function prepare(area: Area, route: AnyRoute, basePath: string): Endpoint {
  const { method, auth, body, rateLimit } = route;
  const path = route.path === "/" && basePath !== "" ? basePath : basePath + route.path;
  return {
    method,
    path,
    area: area.name,
    route,
    family: families[area.family],
    readPath: pathReader(path),
    challenge: takesKeysFirst(auth) ? "ApiKey" : "Bearer",
    body: body === undefined ? null : prepareBody(body),
    limit: rateLimit ?? null,
  };
}

function takesKeysFirst({ security: [first] }: Guard<unknown, string>): boolean {
  return Object.values(first?.schemes ?? {}).some(({ type }) => type === "apiKey");
}

function prepareBody(body: BodySpec<GenericSchema>): PreparedBody {
  const { isStreamed = false, mediaTypes = [] } = body;
  return {
    schema: body.schema,
    optional: body.schema.type === "optional" || body.schema.type === "nullish",
    bytesMax: body.maxBytes ?? bodyBytesMaxDefault,
    msMax: body.msMax,
    mediaTypes: isStreamed ? mediaTypes : ["application/json", ...mediaTypes],
    isStreamed,
  };
}

function checkRoute(route: AnyRoute, where: string): void {
  if (!/^[a-z][A-Za-z0-9]*$/.test(route.operation)) {
    throw new TypeError(`Cannot route ${where}: operation "${route.operation}" must be lowerCamelCase`);
  }
  const statuses = Object.keys(route.responses).map(Number);
  if (statuses.length === 0 || statuses.some(status => !(status >= 200 && status <= 599))) {
    throw new TypeError(
      `Cannot route ${where}: responses must name at least one status, each from 200 to 599`,
    );
  }
  if (route.body !== undefined && route.method === "GET") {
    throw new TypeError(`Cannot route ${where}: a GET has no body`);
  }
  if (route.idempotent !== undefined && route.method !== "POST" && route.method !== "PATCH") {
    throw new TypeError(`Cannot route ${where}: a ${route.method} is idempotent without a key`);
  }
  if (route.idempotent !== undefined && route.body?.isStreamed === true) {
    throw new TypeError(
      `Cannot route ${where}: a streamed body cannot be compared with that of an earlier request`,
    );
  }
  // A rule that cannot be written must not wait for the first request to be found.
  if (route.rateLimit !== undefined && typeof route.rateLimit.rules !== "function") {
    rateLimitPolicy(route.rateLimit.rules);
  }
  const { maxBytes = 1, mediaTypes = [] } = route.body ?? {};
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) {
    throw new TypeError(`Cannot route ${where}: maxBytes must be a positive integer`);
  }
  if (mediaTypes.some(type => !/^([a-z]+\/[a-z0-9.+-]+(;ext="[^"]+")?|\*\/\*)$/.test(type))) {
    throw new TypeError(`Cannot route ${where}: mediaTypes must be lower-case media types`);
  }
  checkParameters(route, where);
}

function checkParameters(route: AnyRoute, where: string): void {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(match => match[1]).sort();
  const entries = route.params === undefined ? {} : entriesOf(route.params);
  const inSchema = Object.keys(entries ?? {}).sort();
  if (entries === null || inPath.join() !== inSchema.join()) {
    throw new TypeError(
      `Cannot route ${where}: params must be an object schema of exactly the path's parameters`,
    );
  }
  if (route.query !== undefined && entriesOf(route.query) === null) {
    throw new TypeError(`Cannot route ${where}: query must be an object schema`);
  }
}

function checkSchemes({ auth }: AnyRoute, known: Map<string, SecurityScheme>, where: string): void {
  for (const { schemes } of auth.security) {
    if (Object.keys(schemes).length === 0)
      throw new TypeError(`Cannot route ${where}: a security option must name its schemes`);
    for (const [name, scheme] of Object.entries(schemes)) {
      const other = known.get(name) ?? scheme;
      if (other !== scheme && JSON.stringify(other) !== JSON.stringify(scheme)) {
        throw new TypeError(`Cannot route ${where}: the security scheme ${name} is described in two ways`);
      }
      known.set(name, scheme);
    }
  }
}
