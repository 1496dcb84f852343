/** Handlers and routers from the route tables of areas. */

import { Router } from "itty-router";
import type { Metrics } from "../base/metrics/mod.ts";
import type { Tracer } from "../base/tracing/mod.ts";
import { chain, systemTimer, type Timer } from "../storage/background/mod.ts";
import type { Limiter } from "../storage/mod.ts";
import { Dispatcher, requestIds, splitUrl } from "./dispatch/dispatcher.ts";
import { prepareEndpoints } from "./dispatch/endpoint.ts";
import type { FailureLimit } from "./dispatch/rate_limits.ts";
import { Idempotency, type IdempotencyOptions } from "./idempotency/idempotency.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { Meters } from "./meters.ts";
import { Failover } from "./rate_limit/failover.ts";
import { type CorsOptions, prepareCors } from "./replies/replies.ts";
import { bodyMsMaxDefault } from "./requests/body.ts";
import type { AnyRoute, Area, ClientAddress, ClientInfo, Handler, Reply } from "./route.ts";
import { type ReadinessWarning, systemArea } from "./system.ts";

/** Options of {@linkcode createHandler} and {@linkcode createRouter}. */
export interface HandlerOptions {
  /** Milliseconds from any origin, for durations; should not jump. @default performance.now */
  readonly clock?: () => number;
  /** Makes a request id where the caller sent none. @default random prefix and counter */
  readonly requestId?: () => string;
  /** @default silentLogger */
  readonly logger?: Logger;
  /** Counts the rate limits of routes. Omitted: nothing is limited. */
  readonly limiter?: Limiter | undefined;
  /**
   * Counts in this process while `limiter` fails or takes longer than `limiterMsMax`: a memory limiter. Omitted: requests
   * wait for `limiter` as long as it takes and pass uncounted when it fails, but for those of routes that refuse.
   */
  readonly localLimiter?: Limiter | undefined;
  /** The limit of wrong credentials on routes that have a limit. @default none */
  readonly failureLimit?: FailureLimit;
  /** Storage of the answers to requests with an `Idempotency-Key`. Omitted: the field is ignored. */
  readonly idempotency?: IdempotencyOptions;
  /** Cross-origin access; `false` leaves it to a proxy. @default {} */
  readonly cors?: CorsOptions | false;
  /** Resolves with warnings where requests can be served, rejects where not, for `GET /readyz`. @default no warnings */
  readonly ready?: () => Promise<readonly ReadinessWarning[]>;
  /** Title of the OpenAPI document. @default "Grandstand" */
  readonly title?: string;
  /** Version of the OpenAPI document. @default "0" */
  readonly version?: string;
  /** Finds the address of the client. @default `info.address` */
  readonly clientAddress?: ClientAddress;
  /** Address under which clients reach the handler, base path included, without a slash at its end. @default "" */
  readonly publicUrl?: string;
  /** Prefix of all paths, `/api/grandstand` for example. @default "" */
  readonly basePath?: string;
  /** Receives the metrics of requests. @default nothing is measured */
  readonly metrics?: Metrics | undefined;
  /** Serves `metrics` at `GET /metrics`. @default false */
  readonly servesMetrics?: boolean;
  /** Records spans of requests. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
  /** Longest time that a body may take to arrive, in ms. @default 10_000 */
  readonly bodyMsMax?: number;
  /** @default systemTimer */
  readonly timer?: Timer;
  /** Receives each reply of a route before it is sent, for tests that compare it with its schema. @default nothing */
  readonly inspect?: (reply: Reply, route: AnyRoute) => void;
}

/**
 * Creates a handler from the route tables of any number of areas, together with `GET /healthz`, `/readyz`,
 * `/openapi.json` and, where enabled, `/metrics`. The handler never rejects: every failure is an answer.
 *
 * @example
 * ```ts
 * const hello = route({
 *   method: "GET",
 *   path: "/hello/:name",
 *   operation: "sayHello",
 *   summary: "Say hello",
 *   auth: open,
 *   params: object({ name: string() }),
 *   responses: { 200: { description: "A greeting", schema: object({ hello: string() }) } },
 *   handle: ({ params }) => json(200, { hello: params.name }),
 * });
 * const handler = createHandler([{ name: "hello", family: "problem", routes: [hello] }]);
 * const response = await handler(new Request("http://localhost/hello/world"));
 * ```
 *
 * @throws `TypeError` for a mistake in a route table, in the base path or in the origins of CORS.
 */
export function createHandler(areas: readonly Area[], options: HandlerOptions = {}): Handler {
  const dispatcher = createDispatcher(areas, options);
  const unknownClient: ClientInfo = {};
  return withClientAddress(
    (request, info = unknownClient) => dispatcher.handle(request, info),
    options.clientAddress,
  );
}

/**
 * Creates an itty `Router` that serves the same as {@linkcode createHandler} and takes further routes and middleware.
 *
 * @throws the same.
 */
export function createRouter(areas: readonly Area[], options: HandlerOptions = {}): PlatformRouter {
  return routerOver(createDispatcher(areas, options), options);
}

/** Tests for a prefix of paths: empty, or without a slash at its end. */
export function isBasePath(text: string): boolean {
  return /^(?:\/[A-Za-z0-9._~-]+)*$/.test(text);
}

function createDispatcher(areas: readonly Area[], options: HandlerOptions): Dispatcher {
  const { title = "Grandstand", version = "0", publicUrl = "", basePath = "", cors = {} } = options;
  if (!isBasePath(basePath)) {
    throw new TypeError(`Cannot serve under "${basePath}": a base path is like /api/grandstand`);
  }
  const meters = options.metrics === undefined ? null : new Meters(options.metrics);
  const system = systemArea({
    ready: options.ready ?? (async () => []),
    document: async () => {
      // A quarter of the code behind the platform writes this document, and most processes are never asked for it.
      const { openapiDocument } = await import("./openapi/document.ts");
      return openapiDocument(endpoints, {
        title,
        version,
        publicUrl: publicUrl === "" ? basePath : publicUrl,
      });
    },
    metrics: options.servesMetrics === true ? (options.metrics ?? null) : null,
  });
  const endpoints = prepareEndpoints([...areas, system], basePath);
  const {
    clock = () => performance.now(),
    logger = silentLogger,
    timer = systemTimer,
    idempotency,
  } = options;
  return new Dispatcher(endpoints, {
    clock,
    requestId: options.requestId ?? requestIds(),
    logger,
    counter: options.limiter === undefined ? null : createCounter(options.limiter, { ...options, meters }),
    failures: options.failureLimit ?? null,
    idempotency: idempotency === undefined ? null : new Idempotency({ ...idempotency, timer, logger }),
    cors: cors === false ? null : prepareCors(cors),
    publicUrl,
    basePath,
    meters,
    tracer: options.tracer ?? null,
    bodyMsMax: options.bodyMsMax ?? bodyMsMaxDefault,
    timer,
    inspect: options.inspect ?? null,
  });
}

function createCounter(
  limiter: Limiter,
  options: HandlerOptions & { readonly meters: Meters | null },
): Failover {
  const { clock = () => performance.now(), logger = silentLogger, timer = systemTimer, meters } = options;
  return new Failover({
    limiter: counted(limiter, meters),
    local: options.localLimiter === undefined ? null : counted(options.localLimiter, meters),
    clock,
    timer,
    onOutage: reason => logger.log("error", "rate_limiter_failed", { reason }),
    onRecovery: () => logger.log("info", "rate_limiter_recovered", {}),
    onUncounted: () => meters?.fallbacks.add(),
  });
}

function counted(limiter: Limiter, meters: Meters | null): Pick<Limiter, "take"> {
  if (meters === null) return limiter;
  return {
    take: (subject, rules, cost) =>
      chain(limiter.take(subject, rules, cost), verdicts => {
        verdicts.forEach(({ allowed }, index) => {
          meters.decide(rules[index]?.name ?? "", allowed);
        });
        return verdicts;
      }),
  };
}

// Declared here: the declarations of itty-router compile for nobody without `skipLibCheck`.

/** A request as handlers receive it: with parameters, query and whatever middleware adds. */
export type RouterRequest = Request & {
  /** The pattern of the route. */
  readonly route: string;
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
} & Record<string, unknown>;

/** Answers a request with a `Response`, or returns nothing to pass it on. */
export type RouterHandler = (request: RouterRequest, info: ClientInfo) => unknown;

type AddRoute = (path: string, ...handlers: RouterHandler[]) => PlatformRouter;

/**
 * An itty `Router` over the routes of a platform. Handlers receive the request, with `params` and `query`, and the
 * {@linkcode ClientInfo}; they return a `Response`, or nothing to pass the request on.
 *
 * - `router.get("/hello/:name", handler)` adds a route; the platform's routes come first.
 * - `router.before.push(handler)` runs middleware in front of every route, the platform's too.
 * - `router.finally.push((response, request) => …)` sees every answer and may return another.
 */
export interface PlatformRouter {
  readonly all: AddRoute;
  readonly delete: AddRoute;
  readonly get: AddRoute;
  readonly head: AddRoute;
  readonly options: AddRoute;
  readonly patch: AddRoute;
  readonly post: AddRoute;
  readonly put: AddRoute;
  readonly before: RouterHandler[];
  readonly finally: ((response: Response, request: RouterRequest, info: ClientInfo) => unknown)[];
  /** Method, pattern, handlers and path of each route; the first is the whole platform. */
  readonly routes: [method: string, pattern: RegExp, handlers: RouterHandler[], path?: string][];
  readonly fetch: Handler;
}

/** Hands the address of the client on in place of the peer's. */
function withClientAddress(handler: Handler, clientAddress: ClientAddress | undefined): Handler {
  if (clientAddress === undefined) return handler;
  return (request, peer = {}) => handler(request, new Client(request, peer, clientAddress));
}

/**
 * A peer with the address of the client, which is looked up only where a route asks. A class, because a getter of each object
 * makes a shape for each, which V8 keeps, with the request, until a full collection: measured a third of a request on Node.
 */
class Client implements ClientInfo {
  readonly target: ClientInfo["target"];
  readonly waitUntil: ClientInfo["waitUntil"];
  readonly stopping: ClientInfo["stopping"];
  readonly framed: ClientInfo["framed"];
  readonly expectStream: ClientInfo["expectStream"];
  readonly createResponse: ClientInfo["createResponse"];
  readonly #request: Request;
  readonly #peer: ClientInfo;
  readonly #addressOf: ClientAddress;

  constructor(request: Request, peer: ClientInfo, addressOf: ClientAddress) {
    this.target = peer.target;
    this.waitUntil = peer.waitUntil;
    this.stopping = peer.stopping;
    this.framed = peer.framed;
    this.expectStream = peer.expectStream;
    this.createResponse = peer.createResponse;
    this.#request = request;
    this.#peer = peer;
    this.#addressOf = addressOf;
  }

  get address(): string | undefined {
    return this.#addressOf(this.#request, this.#peer);
  }
}

function routerOver(
  dispatcher: Dispatcher,
  {
    basePath: base = "",
    clientAddress,
  }: { readonly basePath?: string; readonly clientAddress?: ClientAddress },
): PlatformRouter {
  const servePlatform: RouterHandler = (request, info) =>
    dispatcher.hasRoute(request, info) ? dispatcher.handle(request, info) : undefined;
  const before: PlatformRouter["before"] = [];
  const ending: PlatformRouter["finally"] = [
    async (found: Response | undefined | null, request, info) => {
      const response = found ?? (await answerHead(router, request, info));
      return response === null
        ? dispatcher.handle(request, info, methodsAt(router, request))
        : withFields(response, dispatcher.commonFields(request, info));
    },
  ];
  const itty = Router<RouterRequest, [ClientInfo]>({
    base,
    routes: [["ALL", /(?:)/, [servePlatform], "*"]],
    before,
    finally: ending,
    catch: (error: unknown, request: Request, info: ClientInfo) => dispatcher.refuse(error, request, info),
  });
  const router = itty as unknown as PlatformRouter;
  const serveAll = router.fetch;
  const isExtended = (): boolean => router.routes.length > 1 || before.length > 0 || ending.length > 1;
  async function serveExtended(request: Request, info: ClientInfo): Promise<Response> {
    try {
      return await serveAll(request, info);
    } catch (error) {
      return dispatcher.refuse(error, request, info);
    }
  }
  const fetch: Handler = (request, info = {}) =>
    isExtended() ? serveExtended(request, info) : dispatcher.handle(request, info);
  return Object.assign(router, { fetch: withClientAddress(fetch, clientAddress) });
}

function methodsAt({ routes: [, ...added] }: PlatformRouter, request: Request): readonly string[] {
  const { path } = splitUrl(request.url);
  const methods = added.flatMap(([method, pattern]) =>
    method === "ALL" || !pattern.test(path) ? [] : method === "GET" ? ["GET", "HEAD"] : [method],
  );
  return [...new Set(methods)];
}

/** Answers a HEAD request by an added GET route; null: there is none. */
async function answerHead(
  { routes: [, ...added] }: PlatformRouter,
  request: RouterRequest,
  info: ClientInfo,
): Promise<Response | null> {
  if (request.method !== "HEAD") return null;
  const { path } = splitUrl(request.url);
  for (const [method, pattern, handlers] of added) {
    const match = method === "GET" ? pattern.exec(path) : null;
    if (match === null) continue;
    request.params = { ...match.groups };
    for (const handle of handlers) {
      const response = (await handle(request, info)) as Response | undefined | null;
      if (response != null) return new Response(null, response);
    }
  }
  return null;
}

function withFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  const missing = Object.entries(fields).filter(([name]) => !response.headers.has(name));
  if (missing.length === 0) return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of missing) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
