import { AppError } from "../../errors/mod.ts";
import { type FailureContext, failureReply, logFailure } from "../errors/failure.ts";
import type { ErrorFamily } from "../errors/family.ts";
import { problemFamily } from "../errors/problem.ts";
import type { Exchange } from "../exchange.ts";
import type { Meters } from "../metrics.ts";
import { run, type Services } from "../pipeline.ts";
import type { Cors } from "../replies/cors.ts";
import { platformResponse, respond } from "../replies/respond.ts";
import { isSaneRequestId } from "../requests/request_id.ts";
import { type Endpoint, familyFinder } from "./endpoint.ts";
import { type HotTarget, HotTargets } from "./hot_targets.ts";
import type { AnyRoute, ClientInfo, Reply } from "./route.ts";
import { type Found, Router } from "./router.ts";
import { splitUrl } from "./target.ts";

/** What a dispatcher works with. */
export interface DispatcherOptions extends Omit<Services, "fail"> {
  readonly clock: () => number;
  readonly requestId: () => string;
  /** Null where cross-origin access is somebody else's affair. */
  readonly cors: Cors | null;
  readonly publicUrl: string;
  /** Null where nothing is measured. */
  readonly meters: Meters | null;
  /** Receives each reply of a route; null outside tests. */
  readonly inspect: ((reply: Reply, route: AnyRoute) => void) | null;
}

/** Takes requests to their endpoints and answers to their callers. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #services: Services;
  readonly #router: Router<Endpoint>;
  readonly #hot = new HotTargets();
  readonly #familyOf: (path: string) => ErrorFamily;

  /** @throws `TypeError` for malformed or repeated paths. */
  constructor(endpoints: readonly Endpoint[], options: DispatcherOptions) {
    this.#options = options;
    this.#services = {
      ...options,
      fail: (error, endpoint, exchange) => this.#fail(error, endpoint, exchange),
    };
    this.#router = new Router(endpoints);
    this.#familyOf = familyFinder(endpoints);
  }

  /** Answers one request; never rejects. */
  async handle(request: Request, info: ClientInfo): Promise<Response> {
    const { clock, logger, meters } = this.#options;
    try {
      const observed = meters !== null || logger.enabled("info");
      const began = observed ? clock() : 0;
      const text = info.target ?? request.url;
      const hot = request.method === "GET" ? this.#hot.get(text) : undefined;
      const exchange = this.#open(request, info, hot ?? null, text);
      const { endpoint, allow } =
        hot === undefined ? this.#router.find(request.method, exchange.target.path) : found(hot);
      let reply: Reply;
      let failed = false;
      try {
        reply =
          endpoint === null
            ? this.#withoutEndpoint(allow, exchange)
            : await run(endpoint, exchange, this.#services);
      } catch (error) {
        failed = true;
        reply = this.#fail(error, endpoint, exchange);
      }
      if (!failed && endpoint !== null) this.#options.inspect?.(reply, endpoint.route);
      if (!failed && hot === undefined) this.#remember(text, endpoint, exchange);
      const response = this.#close(reply, failed, endpoint, exchange);
      if (observed) this.#observe(response.status, clock() - began, endpoint, exchange);
      return response;
    } catch {
      // An injected part broke its promise not to throw; there is nobody left to tell.
      return new Response(null, { status: 500 });
    }
  }

  /** Public answers are asked for by everybody, so what their targets mean is worth keeping. */
  #remember(text: string, endpoint: Endpoint | null, { request, target, parsed }: Exchange): void {
    if (endpoint?.route.cache !== "public" || parsed === null || request.method !== "GET") return;
    this.#hot.put(text, { target, endpoint, ...parsed });
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
      extra: cors === null ? null : cors.answer(request.headers.get("origin")),
    };
  }

  #withoutEndpoint(allow: string | null, exchange: Exchange): Reply {
    const { method } = exchange.request;
    if (allow === null) throw new AppError("not_found", "Cannot find anything at this path");
    if (method === "OPTIONS") return this.#optionsReply(allow, exchange);
    const message = `Cannot use this method here: the path knows ${allow}`;
    throw new AppError("method_not_allowed", message, { headers: { allow } });
  }

  #optionsReply(allow: string, { request, extra }: Exchange): Reply {
    const { cors } = this.#options;
    const granted = extra !== null && "access-control-allow-origin" in extra;
    const asked = request.headers.has("access-control-request-method");
    const preflight = cors !== null && granted && asked ? cors.preflight(allow) : null;
    return { status: 204, headers: { allow, ...preflight } };
  }

  #fail(error: unknown, endpoint: Endpoint | null, { requestId, target }: Exchange): Reply {
    const family = endpoint?.family ?? this.#familyOf(target.path);
    const { publicUrl, logger } = this.#options;
    const context: FailureContext = { family, endpoint, requestId, path: target.path, origin: publicUrl };
    logFailure(error, context, logger);
    return failureReply(error, context);
  }

  #close(reply: Reply, failed: boolean, endpoint: Endpoint | null, exchange: Exchange): Response {
    const { requestId, extra, info } = exchange;
    const createResponse = info.createResponse ?? platformResponse;
    const head = exchange.request.method === "HEAD";
    const cacheable = !failed && endpoint?.route.cache === "public";
    const jsonType = (endpoint?.family ?? problemFamily).successMediaType;
    try {
      return respond(reply, { requestId, head, cacheable, jsonType, extra }, createResponse);
    } catch (error) {
      // The handler gave a status, header or value that no Response can have.
      const failure = this.#fail(error, endpoint, exchange);
      return respond(failure, { requestId, head, cacheable: false, jsonType, extra }, createResponse);
    }
  }

  #observe(status: number, ms: number, endpoint: Endpoint | null, exchange: Exchange): void {
    const { logger, meters } = this.#options;
    const area = endpoint?.area ?? "none";
    const operation = endpoint?.route.operation ?? "none";
    meters?.meter(area, operation).record(status, ms);
    if (!logger.enabled("info")) return;
    logger.log("info", "request", {
      requestId: exchange.requestId,
      method: exchange.request.method,
      // The pattern: the path as sent may hold ids that are secrets.
      route: endpoint?.path ?? null,
      operation,
      status,
      ms: Math.round(ms * 1000) / 1000,
    });
  }
}

function found({ endpoint }: HotTarget): Found<Endpoint> {
  return { endpoint, allow: null };
}
