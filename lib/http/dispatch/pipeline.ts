/**
 * The steps of a request through its route: authorise, count, check parameters, read the body, run the handler once.
 *
 * Only promises are awaited: each needless turn of the microtask queue costs as much as the dispatch.
 *
 * @module
 */

import { type Idempotency, idempotencyKeyOf } from "../idempotency/idempotency.ts";
import type { Logger } from "../logger.ts";
import type { Failover } from "../rate_limit/failover.ts";
import { readJson, type Timer } from "../requests/body.ts";
import { idleMsMaxDefault, openBody } from "../requests/body_stream.ts";
import { badJson } from "../requests/json.ts";
import { noParameters, parseQuery } from "../requests/query.ts";
import { validate } from "../requests/validate.ts";
import { type Call, open, type Reply } from "../route.ts";
import type { Endpoint, PreparedBody } from "./endpoint.ts";
import { type Exchange, GuardRequest, hostOf, type ParsedParameters } from "./exchange.ts";
import { countContent, countRefusal, countRequest, type FailureLimit } from "./rate_limits.ts";

/** Services that all routes share. */
export interface PipelineServices {
  /** Null: nothing is limited. */
  readonly counter: Failover | null;
  /** Null: wrong credentials are not counted. */
  readonly failures: FailureLimit | null;
  /** Null: `Idempotency-Key` is ignored. */
  readonly idempotency: Idempotency | null;
  readonly logger: Logger;
  /** Milliseconds from any origin. */
  readonly clock: () => number;
  readonly timer: Timer;
  /** Longest time that a body may take, in ms. */
  readonly bodyMsMax: number;
  /** Writes the reply of an error. */
  readonly fail: (error: unknown, endpoint: Endpoint, exchange: Exchange) => Reply;
}

/** Age in ms up to which a check of credentials counts while a body arrives. */
const checkAgeMsMax = 1_000;

/**
 * Runs one request through its route; without a promise where neither guard nor handler return one.
 *
 * @throws whatever guard, checks or handler throw.
 */
export function runEndpoint(
  endpoint: Endpoint,
  exchange: Exchange,
  services: PipelineServices,
): Reply | Promise<Reply> {
  const { route, limit, body } = endpoint;
  if (limit !== null || body !== null || route.idempotent !== undefined) {
    return runAllSteps(endpoint, exchange, services);
  }
  if (route.auth === open) return runHandler(endpoint, exchange, null);
  const principal = authorise(endpoint, exchange, services);
  return isPromise(principal)
    ? principal.then(known => runHandler(endpoint, exchange, known))
    : runHandler(endpoint, exchange, principal);
}

/** Runs the handler of a route without a body. */
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
  const counter = limit === null ? null : services.counter;
  const authorised = authorise(endpoint, exchange, services);
  const principal = isPromise(authorised) ? await authorised : authorised;
  const checkedAt = services.clock();
  if (limit !== null && counter !== null) {
    await countRequest(limit, { request, info, requestId, principal }, { exchange, counter });
  }
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
  if (limit?.content !== undefined && counter !== null) {
    await countContent(limit.content, call, { exchange, counter });
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
  /** As its schema returns it. */
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
  /** The body as it was sent, parsed. */
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

/** Tells a promise from a value. */
export function isPromise<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}
