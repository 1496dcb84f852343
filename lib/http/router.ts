/**
 * The router that an embedder extends: an itty `Router` whose first route is the whole platform.
 *
 * itty tries its routes in turn. The platform's own index stays in front of it and serves every request alone for as long as
 * nothing was added.
 *
 * @module
 */

import {
  type IRequest,
  type RequestHandler,
  type ResponseHandler,
  Router,
  type RouterType,
} from "itty-router";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import { splitUrl } from "./dispatch/exchange.ts";
import type { ClientInfo } from "./route.ts";

/**
 * An itty `Router` over the routes of a platform. Handlers receive the request, with `params` and `query`, and the
 * {@linkcode ClientInfo}; they return a `Response`, or nothing to pass the request on.
 *
 * - `router.get("/hello/:name", handler)` adds a route; the platform's routes come first.
 * - `router.before.push(handler)` runs middleware in front of every route, the platform's too.
 * - `router.finally.push((response, request) => …)` sees every answer and may return another.
 */
export type PlatformRouter = RouterType<IRequest, [info: ClientInfo], Response> & {
  readonly before: RequestHandler[];
  readonly finally: ResponseHandler[];
};

/** Wraps a dispatcher in a router. Routes that are added are under the base path too. */
export function routerOver(dispatcher: Dispatcher, base: string): PlatformRouter {
  const servePlatform: RequestHandler = (request: Request, info: ClientInfo) =>
    dispatcher.hasRoute(request, info) ? dispatcher.handle(request, info) : undefined;
  const before: RequestHandler[] = [];
  const ending: ResponseHandler[] = [
    async (found: Response | undefined | null, request: IRequest & Request, info: ClientInfo) => {
      const response = found ?? (await answerHead(router, request, info));
      return response === null
        ? dispatcher.handle(request, info, methodsAt(router, request))
        : withFields(response, dispatcher.commonFields(request, info));
    },
  ];
  const router: PlatformRouter = Object.assign(
    Router<IRequest, [ClientInfo]>({
      base,
      routes: [["ALL", /(?:)/, [servePlatform], "*"]],
      before,
      finally: ending,
      catch: (error: unknown, request: Request, info: ClientInfo) => dispatcher.refuse(error, request, info),
    }),
    { before, finally: ending },
  );
  const serveAll = router.fetch;
  const isExtended = (): boolean => router.routes.length > 1 || before.length > 0 || ending.length > 1;
  async function fetch(request: Request, info: ClientInfo = {}): Promise<Response> {
    if (!isExtended()) return await dispatcher.handle(request, info);
    try {
      return await serveAll(request, info);
    } catch (error) {
      return dispatcher.refuse(error, request, info);
    }
  }
  return Object.assign(router, { fetch });
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
  request: IRequest & Request,
  info: ClientInfo,
): Promise<Response | null> {
  if (request.method !== "HEAD") return null;
  const { path } = splitUrl(request.url);
  for (const [method, pattern, handlers] of added) {
    const match = method === "GET" ? pattern.exec(path) : null;
    if (match === null) continue;
    request.params = { ...match.groups };
    for (const handle of handlers) {
      const response: Response | undefined | null = await handle(request, info);
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
