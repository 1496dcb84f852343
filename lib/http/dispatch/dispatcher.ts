import { AppError } from "../../base/errors/mod.ts";
import type { ServerSpan, Tracer } from "../../base/tracing/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import { failureReply, logFailure } from "../errors/failure.ts";
import type { ErrorFamily } from "../errors/family.ts";
import { problemFamily } from "../errors/problem.ts";
import type { Meters } from "../meters.ts";
import type { Cors } from "../replies/cors.ts";
import { emptyEventStream, isEventSource } from "../replies/event_streams.ts";
import { prefersHtml } from "../replies/page_fields.ts";
import { platformResponse, respond } from "../replies/replies.ts";
import type { AnyRoute, ClientInfo, Reply } from "../route.ts";
import { type FoundRoute, RouteIndex } from "../routing/route_index.ts";
import { type Endpoint, familyFinder } from "./endpoint.ts";
import { type Exchange, isSaneRequestId, type ParsedParameters, splitUrl, type Target } from "./exchange.ts";
import { isPromise, type PipelineServices, runEndpoint } from "./pipeline.ts";

export interface DispatcherOptions extends Omit<PipelineServices, "fail"> {
  readonly clock: () => number;
  readonly requestId: () => string;
  /** Null: cross-origin answers are left to a proxy. */
  readonly cors: Cors | null;
  /** Address of the platform, base path included. */
  readonly publicUrl: string;
  /** Prefix of all paths; empty or without a slash at its end. */
  readonly basePath: string;
  /** Null: nothing is measured. */
  readonly meters: Meters | null;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  /** Receives each reply of a route; null outside tests. */
  readonly inspect: ((reply: Reply, route: AnyRoute) => void) | null;
}

/** A target that was answered before, with everything that follows from its text. */
interface HotTarget extends ParsedParameters {
  readonly target: Target;
  readonly endpoint: Endpoint;
}

/** Most targets of public routes that are remembered. */
const hotTargetsMax = 1_024;
/** Longest target that is remembered, in UTF-16 units. */
const hotTargetCharsMax = 512;

/**
 * Takes requests to their endpoints and replies to their clients.
 *
 * Public answers are requested by everybody under the same few targets. Finding the endpoint and checking the parameters
 * depends on the text of a target alone, so it is done once for each.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #services: PipelineServices;
  readonly #index: RouteIndex<Endpoint>;
  readonly #hot = new Cache<HotTarget>({ entriesMax: hotTargetsMax });
  readonly #familyOf: (path: string) => ErrorFamily;
  /** Pages that answer for what is not there below them. */
  readonly #folders: readonly Endpoint[];

  /** @throws `TypeError` for malformed or repeated paths. */
  constructor(endpoints: readonly Endpoint[], options: DispatcherOptions) {
    this.#options = options;
    this.#services = {
      ...options,
      fail: (error, endpoint, exchange) => this.#fail(error, endpoint, exchange),
    };
    this.#index = new RouteIndex(endpoints);
    this.#familyOf = familyFinder(endpoints, options.basePath);
    this.#folders = endpoints.filter(({ route }) => route.missing !== undefined);
  }

  /** Returns true where a route has this method and path, and does not give way to those of an embedder. */
  hasRoute(request: Request, info: ClientInfo): boolean {
    const { path } = splitUrl(info.target ?? request.url);
    const { endpoint } = this.#index.find(request.method, path);
    return endpoint !== null && endpoint.route.isFallback !== true;
  }

  /**
   * Answers one request; never rejects.
   *
   * @param otherMethods Methods that the path has beside those of the routes, for `Allow`.
   */
  handle(request: Request, info: ClientInfo, otherMethods: readonly string[] = []): Promise<Response> {
    const { tracer } = this.#options;
    if (tracer === null) return this.#answer(request, info, otherMethods, null);
    return tracer.serve(request.headers, span => this.#answer(request, info, otherMethods, span));
  }

  async #answer(
    request: Request,
    info: ClientInfo,
    otherMethods: readonly string[],
    span: ServerSpan | null,
  ): Promise<Response> {
    const { clock, logger, meters } = this.#options;
    meters?.active.add(1);
    try {
      const isObserved = meters !== null || logger.enabled("info");
      const startedAt = isObserved ? clock() : 0;
      const text = info.target ?? request.url;
      const hot = request.method === "GET" ? this.#hot.get(text) : undefined;
      const exchange = this.#open(request, info, hot ?? null, text);
      const { endpoint, allow }: FoundRoute<Endpoint> =
        hot === undefined
          ? this.#index.find(request.method, exchange.target.path)
          : { endpoint: hot.endpoint, allow: null };
      let reply: Reply;
      let isFailure = false;
      try {
        const run =
          endpoint === null
            ? this.#withoutEndpoint(allow, otherMethods, exchange)
            : runEndpoint(endpoint, exchange, this.#services);
        reply = isPromise(run) ? await run : run;
      } catch (error) {
        isFailure = true;
        reply = this.#fail(error, endpoint, exchange);
      }
      if (!isFailure && endpoint !== null) {
        this.#options.inspect?.(reply, endpoint.route);
        if (hot === undefined) this.#remember(text, endpoint, exchange);
      }
      const response = this.#close(reply, isFailure, endpoint, exchange);
      const { status } = response;
      span?.finish({ method: endpoint?.method ?? "_OTHER", route: endpoint?.path ?? null, status });
      if (isObserved) this.#observe(status, clock() - startedAt, endpoint, exchange);
      return response;
    } catch {
      // An injected part broke its promise not to throw, the logger perhaps.
      return new Response(null, { status: 500 });
    } finally {
      meters?.active.add(-1);
    }
  }

  /** Answers a request whose handler outside of the routes threw; never throws. */
  refuse(error: unknown, request: Request, info: ClientInfo): Response {
    const exchange = this.#open(request, info, null, info.target ?? request.url);
    return this.#close(this.#fail(error, null, exchange), true, null, exchange);
  }

  /** Returns the header fields that every answer to a request has. */
  commonFields(request: Request, info: ClientInfo): Readonly<Record<string, string>> {
    const { requestId, extra } = this.#open(request, info, null, "/");
    return { ...extra, "x-request-id": requestId };
  }

  #remember(text: string, endpoint: Endpoint, { request, target, parsed }: Exchange): void {
    if (endpoint.route.cache !== "public" || parsed === null || request.method !== "GET") return;
    if (text.length <= hotTargetCharsMax) this.#hot.set(text, { target, endpoint, ...parsed });
  }

  #open(request: Request, info: ClientInfo, hot: HotTarget | null, text: string): Exchange {
    const { requestId, cors } = this.#options;
    const sent = request.headers.get("x-request-id");
    return {
      request,
      info,
      requestId: sent !== null && isSaneRequestId(sent) ? sent : requestId(),
      target: hot?.target ?? splitUrl(text),
      parsed: hot,
      extra: cors === null ? null : cors.answer(request),
    };
  }

  #withoutEndpoint(
    routedMethods: string | null,
    otherMethods: readonly string[],
    exchange: Exchange,
  ): Reply | Promise<Reply> {
    if (routedMethods === null && otherMethods.length === 0) {
      const page = this.#pageBeforeSlash(exchange) ?? this.#missingPage(exchange);
      if (page !== null) return page;
      throw new AppError("not_found", "Cannot find anything at this path");
    }
    const methods = new Set([...(routedMethods?.split(", ") ?? []), ...otherMethods, "OPTIONS"]);
    const allow = [...methods].sort().join(", ");
    if (exchange.request.method === "OPTIONS") return this.#optionsReply(allow, exchange);
    const message = `Cannot use this method here: the path knows ${allow}`;
    throw new AppError("method_not_allowed", message, { headers: { allow } });
  }

  /** Leads people from `/docs/` to `/docs`. */
  #pageBeforeSlash({ request, target: { path, query } }: Exchange): Reply | null {
    const shorter = path.slice(0, -1);
    if (!path.endsWith("/") || shorter === "/") return null;
    if (this.#index.find(request.method, shorter).endpoint?.route.isPage !== true) return null;
    // Relative, as a framework in front may have taken off a prefix of the path.
    const location = `../${shorter.slice(shorter.lastIndexOf("/") + 1)}${query === "" ? "" : `?${query}`}`;
    return { status: 308, headers: { location } };
  }

  #missingPage({ request, target: { path } }: Exchange): Promise<Reply> | null {
    if (!["GET", "HEAD"].includes(request.method) || !prefersHtml(request)) return null;
    const folder = this.#folders.find(each => path.startsWith(`${each.path}/`));
    return folder?.route.missing?.(path.slice(folder.path.length + 1).split("/").length - 1) ?? null;
  }

  #optionsReply(allow: string, { request, extra }: Exchange): Reply {
    const { cors } = this.#options;
    const isGranted = extra !== null && "access-control-allow-origin" in extra;
    const isPreflight = request.headers.has("access-control-request-method");
    const preflight = cors !== null && isGranted && isPreflight ? cors.preflight(allow) : null;
    return { status: 204, headers: { allow, ...preflight } };
  }

  #fail(error: unknown, endpoint: Endpoint | null, { request, requestId, target }: Exchange): Reply {
    const { publicUrl, logger } = this.#options;
    const context = {
      family: endpoint?.family ?? this.#familyOf(target.path),
      operation: endpoint?.route.operation,
      challenge: endpoint?.challenge ?? "Bearer",
      scopes: endpoint?.route.auth.security[0]?.requires ?? [],
      requestId,
      path: target.path,
      publicUrl,
    };
    logFailure(error, context, logger);
    const reply = failureReply(error, context);
    const isTemporary = reply.status === 429 || reply.status >= 500;
    if (!isTemporary || endpoint?.route.responses[200]?.isStreamable !== true) return reply;
    const { headers } = request;
    const isFinal = isEventSource(headers.get("accept"), headers.get("cache-control"));
    return isFinal ? emptyEventStream(Number(reply.headers?.["retry-after"] ?? 1) * 1_000) : reply;
  }

  #close(reply: Reply, isFailure: boolean, endpoint: Endpoint | null, exchange: Exchange): Response {
    const { requestId, extra, info } = exchange;
    const createResponse = info.createResponse ?? platformResponse;
    const head = exchange.request.method === "HEAD";
    const cacheable = !isFailure && endpoint?.route.cache === "public";
    const jsonType = (endpoint?.family ?? problemFamily).successMediaType;
    try {
      return respond(reply, { requestId, head, cacheable, jsonType, extra }, createResponse);
    } catch (error) {
      // The handler returned a status, header or value that no Response can have.
      const failure = this.#fail(error, endpoint, exchange);
      return respond(failure, { requestId, head, cacheable: false, jsonType, extra }, createResponse);
    }
  }

  #observe(status: number, ms: number, endpoint: Endpoint | null, exchange: Exchange): void {
    const { logger, meters } = this.#options;
    meters?.record(endpoint, status, ms);
    if (!logger.enabled("info")) return;
    logger.log("info", "request", {
      requestId: exchange.requestId,
      method: exchange.request.method,
      // The pattern: the path as sent may hold ids that are secrets.
      route: endpoint?.path ?? null,
      operation: endpoint?.route.operation ?? "none",
      status,
      ms: Math.round(ms * 1000) / 1000,
    });
  }
}
