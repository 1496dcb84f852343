import { AppError } from "../../base/errors/mod.ts";
import type { ServerSpan, Tracer } from "../../base/tracing/mod.ts";
import { Cache, chain, type Timer } from "../../storage/background/mod.ts";
import { type ErrorFamily, failureReply, logFailure, problemFamily } from "../errors/failure.ts";
import { type Idempotency, idempotencyKeyOf } from "../idempotency/idempotency.ts";
import type { Logger } from "../logger.ts";
import type { Meters } from "../meters.ts";
import type { Failover } from "../rate_limit/failover.ts";
import {
  type Cors,
  emptyEventStream,
  isEventSource,
  type LimitFields,
  platformResponse,
  prefersHtml,
  respond,
} from "../replies/replies.ts";
import { badJson, idleMsMaxDefault, openBody, readJson } from "../requests/body.ts";
import { validate } from "../requests/validate.ts";
import { type AnyRoute, type Call, type ClientInfo, type GuardInput, open, type Reply } from "../route.ts";
import {
  type FoundRoute,
  noParameters,
  type Parameters,
  parseQuery,
  RouteIndex,
} from "../routing/route_index.ts";
import { type Endpoint, familyFinder, type PreparedBody } from "./endpoint.ts";
import { countContent, countRefusal, countRequest, type FailureLimit } from "./rate_limits.ts";

interface DispatcherOptions extends Omit<PipelineServices, "fail"> {
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

interface HotTarget extends ParsedParameters {
  readonly target: Target;
  readonly endpoint: Endpoint;
}

const hotTargetsMax = 1_024;
/** Longest target that is remembered, in UTF-16 units. */
const hotTargetCharsMax = 512;

/**
 * Takes requests to their endpoints and replies to their clients.
 *
 * Public answers, and those of paths without parameters, are requested by everybody under the same few targets. Finding the endpoint
 * and checking the parameters depends on the text of a target alone, so it is done once for each.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #services: PipelineServices;
  readonly #index: RouteIndex<Endpoint>;
  readonly #hot = new Cache<HotTarget>({ entriesMax: hotTargetsMax });
  readonly #familyOf: (path: string) => ErrorFamily;
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

  commonFields(request: Request, info: ClientInfo): Readonly<Record<string, string>> {
    const { requestId, extra } = this.#open(request, info, null, "/");
    return { ...extra, "x-request-id": requestId };
  }

  #remember(text: string, endpoint: Endpoint, { request, target, parsed }: Exchange): void {
    const isFixed = target.query === "" && target.path === endpoint.path;
    if (parsed === null || request.method !== "GET" || !(isFixed || endpoint.route.cache === "public"))
      return;
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
      limits: null,
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
    const { requestId, extra, limits, info } = exchange;
    const createResponse = info.createResponse ?? platformResponse;
    const head = exchange.request.method === "HEAD";
    const cacheable = !isFailure && endpoint?.route.cache === "public";
    const jsonType = (endpoint?.family ?? problemFamily).successMediaType;
    try {
      return respond(reply, { requestId, head, cacheable, jsonType, extra, limits }, createResponse);
    } catch (error) {
      // The handler returned a status, header or value that no Response can have.
      const failure = this.#fail(error, endpoint, exchange);
      const context = { requestId, head, cacheable: false, jsonType, extra, limits };
      return respond(failure, context, createResponse);
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

/** A request's target, both parts as sent: percent-encoded, without `?` and fragment. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

export function splitUrl(url: string): Target {
  const start = url.charCodeAt(0) === 47 ? 0 : pathStart(url);
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark >= end) return { path: url.slice(start, end) || "/", query: "" };
  return { path: url.slice(start, mark) || "/", query: url.slice(mark + 1, end) };
}

/**
 * The host that a request is addressed to, as sent; empty where it names none, as HTTP/1.0 allows. A Request that was made by
 * hand has its host in the URL alone, and one without a host may have no more than its target there.
 */
export function hostOf({ headers, url }: Pick<Request, "headers" | "url">): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}

function pathStart(url: string): number {
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const mark = url.indexOf("?", authority);
  if (slash === -1) return mark === -1 ? url.length : mark;
  return mark !== -1 && mark < slash ? mark : slash;
}

interface ParsedParameters {
  readonly params: unknown;
  readonly query: unknown;
}

/** The state of one request until its answer. */
export interface Exchange {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly target: Target;
  parsed: ParsedParameters | null;
  /** Header fields of every answer to the request, errors too. */
  readonly extra: Readonly<Record<string, string>> | null;
  /** What the request has spent, for its answer. A copy of `extra` with two more names cost 12 of 51 µs on Node 20. */
  limits: LimitFields | null;
}

/** The part of a request that guards read. The query is parsed when a guard first asks for it. */
class GuardRequest implements GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Parameters;
  readonly #query: string;

  constructor(exchange: Exchange, params: Parameters) {
    this.request = exchange.request;
    this.info = exchange.info;
    this.params = params;
    this.#query = exchange.target.query;
  }

  /** @throws `validation_failed` for a malformed query. */
  get query(): Parameters {
    return parseQuery(this.#query);
  }
}

const saneShape = /^[A-Za-z0-9._-]{8,64}$/;

/** Returns true for 8 to 64 characters that need no escaping in a header or a log line. */
function isSaneRequestId(id: string): boolean {
  return saneShape.test(id);
}

/** Creates a generator of ids that are unique among processes: 64 random bits for the process, then a counter. */
export function requestIds(): () => string {
  const prefix = [...crypto.getRandomValues(new Uint8Array(8))]
    .map(byte => byte.toString(16).padStart(2, "0"))
    .join("");
  let count = 0;
  return () => {
    count++;
    return `${prefix}-${count.toString(36)}`;
  };
}

interface PipelineServices {
  /** Null: nothing is limited. */
  readonly counter: Failover | null;
  /** Null: wrong credentials are not counted. */
  readonly failures: FailureLimit | null;
  /** Null: `Idempotency-Key` is ignored. */
  readonly idempotency: Idempotency | null;
  readonly logger: Logger;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly bodyMsMax: number;
  readonly fail: (error: unknown, endpoint: Endpoint, exchange: Exchange) => Reply;
}

/** Age in ms up to which a check of credentials counts while a body arrives. */
const checkAgeMsMax = 1_000;

/**
 * Runs one request through its route; without a promise where neither guard nor handler return one.
 *
 * @throws whatever guard, checks or handler throw.
 */
function runEndpoint(
  endpoint: Endpoint,
  exchange: Exchange,
  services: PipelineServices,
): Reply | Promise<Reply> {
  const { route, limit, body } = endpoint;
  if (body !== null || route.idempotent !== undefined) return runAllSteps(endpoint, exchange, services);
  if (route.auth === open && limit === null) return runHandler(endpoint, exchange, null);
  return chain(authorise(endpoint, exchange, services), principal =>
    chain(countCall(endpoint, exchange, services, principal), () =>
      runHandler(endpoint, exchange, principal),
    ),
  );
}

function countCall(
  { limit }: Endpoint,
  exchange: Exchange,
  { counter }: PipelineServices,
  principal: unknown,
): void | Promise<void> {
  if (limit === null || counter === null) return;
  const { request, info, requestId } = exchange;
  return countRequest(limit, { request, info, requestId, principal }, { exchange, counter });
}

function runHandler(endpoint: Endpoint, exchange: Exchange, principal: unknown): Reply | Promise<Reply> {
  const { request, info, requestId } = exchange;
  exchange.parsed ??= checkParameters(endpoint, exchange);
  const { params, query } = exchange.parsed;
  return endpoint.route.handle({ request, info, requestId, principal, params, query, body: undefined });
}

async function runAllSteps(
  endpoint: Endpoint,
  exchange: Exchange,
  services: PipelineServices,
): Promise<Reply> {
  const { route, limit } = endpoint;
  const { request, info, requestId } = exchange;
  const authorised = authorise(endpoint, exchange, services);
  const principal = isPromise(authorised) ? await authorised : authorised;
  const checkedAt = services.clock();
  const counted = countCall(endpoint, exchange, services, principal);
  if (counted !== undefined) await counted;
  exchange.parsed ??= checkParameters(endpoint, exchange);
  const { params, query } = exchange.parsed;
  const call: MutableCall = { request, info, requestId, principal, params, query, body: undefined };
  const sent = endpoint.body === null ? null : await readBody(endpoint, endpoint.body, exchange, services);
  if (sent !== null) {
    // Credentials may have ended while the body arrived.
    if (services.clock() - checkedAt > checkAgeMsMax)
      call.principal = await authorise(endpoint, exchange, services);
    call.body = sent.value;
  }
  if (limit?.content !== undefined && services.counter !== null) {
    await countContent(limit.content, call, { exchange, counter: services.counter });
  }
  const key =
    route.idempotent === undefined || services.idempotency === null ? null : idempotencyKeyOf(request);
  if (key !== null) return await runOnce({ endpoint, exchange, services, call, key, body: sent?.json });
  const reply = route.handle(call);
  return isPromise(reply) ? await reply : reply;
}

interface MutableCall extends Call<unknown, unknown, unknown, unknown> {
  principal: unknown;
  body: unknown;
}

/** Returns the principal, or its promise; null: the route is open. Wrong credentials are counted before they are refused. */
function authorise(endpoint: Endpoint, exchange: Exchange, services: PipelineServices): unknown {
  const { route, limit, readPath } = endpoint;
  if (route.auth === open) return null;
  const { counter, failures } = services;
  async function refuse(error: unknown): Promise<never> {
    if (limit !== null && counter !== null && failures !== null) {
      await countRefusal(error, failures, { exchange, counter });
    }
    throw error;
  }
  try {
    const principal = route.auth.authenticate(new GuardRequest(exchange, readPath(exchange.target.path)));
    return isPromise(principal) ? principal.catch(refuse) : principal;
  } catch (error) {
    return refuse(error);
  }
}

function checkParameters({ route, readPath }: Endpoint, { target }: Exchange): ParsedParameters {
  const raw = readPath(target.path);
  // A guard may have had no reason to read the parameters that it documents.
  if (route.query === undefined && route.auth.query !== undefined) parseQuery(target.query);
  return {
    params: route.params === undefined ? raw : validate(route.params, raw, "parameters"),
    query:
      route.query === undefined
        ? noParameters
        : validate(route.query, parseQuery(target.query), "parameters"),
  };
}

interface SentBody {
  /** As it was sent; undefined: the request has no body. */
  readonly json: unknown;
  readonly value: unknown;
}

async function readBody(
  endpoint: Endpoint,
  body: PreparedBody,
  exchange: Exchange,
  services: PipelineServices,
): Promise<SentBody> {
  const { request, info } = exchange;
  const { bytesMax, mediaTypes } = body;
  const { timer, bodyMsMax, clock } = services;
  const { msMax = bodyMsMax } = body;
  if (body.isStreamed || msMax > bodyMsMax) info.expectStream?.(request);
  if (body.isStreamed) {
    let checkedAt = clock();
    async function recheck(isEnd: boolean): Promise<void> {
      if (!isEnd && clock() - checkedAt <= checkAgeMsMax) return;
      await authorise(endpoint, exchange, services);
      checkedAt = clock();
    }
    const value = openBody(request, { bytesMax, mediaTypes, timer, idleMsMax: idleMsMaxDefault, recheck });
    return { json: undefined, value };
  }
  const framed = info.framed === true;
  const json = await readJson(request, { bytesMax, mediaTypes, timer, msMax, framed });
  if (json === undefined && !body.optional) throw badJson("it is missing");
  return { json, value: validate(body.schema, json, "body") };
}

interface RepeatableCall {
  readonly endpoint: Endpoint;
  readonly exchange: Exchange;
  readonly services: PipelineServices;
  readonly call: MutableCall;
  readonly key: string;
  readonly body: unknown;
}

/** Runs the handler unless a request with the same key ran before, whose reply is returned then. */
async function runOnce({ endpoint, exchange, services, call, key, body }: RepeatableCall): Promise<Reply> {
  const { route, method } = endpoint;
  const { idempotency, fail } = services;
  if (route.idempotent === undefined || idempotency === null) return await route.handle(call);
  const { path, query } = exchange.target;
  return await idempotency.run(
    {
      subject: route.idempotent.subject(call),
      method,
      host: hostOf(exchange.request),
      path,
      query,
      key,
      body,
    },
    {
      execute: async fingerprint => await route.handle({ ...call, idempotency: { key, fingerprint } }),
      replyTo: error => fail(error, endpoint, exchange),
    },
  );
}

function isPromise<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}
