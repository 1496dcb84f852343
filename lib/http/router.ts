/**
 * The router that an embedder extends: an itty `Router` whose first route is the whole platform.
 *
 * itty tries its routes in turn. The platform's own index stays in front of it and serves every request alone for as long as
 * nothing was added.
 *
 * @module
 */

import { Router } from "itty-router";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import { splitUrl } from "./dispatch/exchange.ts";
import type { ClientAddress, ClientInfo, Handler } from "./route.ts";

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

/** Hands the address of the client on in place of the peer's. It is looked up only where a route asks. */
export function withClientAddress(handler: Handler, clientAddress: ClientAddress | undefined): Handler {
  if (clientAddress === undefined) return handler;
  return (request, peer = {}) =>
    handler(request, {
      ...peer,
      get address() {
        return clientAddress(request, peer);
      },
    });
}

/** Wraps a dispatcher in a router. Routes that are added are under the base path too. */
export function routerOver(
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

/** Methods of the added routes that match the path of a request. */
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

/** Adds header fields that an answer lacks. */
function withFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  const missing = Object.entries(fields).filter(([name]) => !response.headers.has(name));
  if (missing.length === 0) return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of missing) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
