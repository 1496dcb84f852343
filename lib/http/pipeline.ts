/**
 * The way of a request through its route: guard, rate limit, parameters, body, idempotency, handler.
 *
 * What is no promise is not awaited: each needless turn through the microtask queue costs as much as the dispatch.
 *
 * @module
 */

import { Credentials, type Exchange } from "./exchange.ts";
import type { Idempotency } from "./idempotency/idempotency.ts";
import { idempotencyKeyOf } from "./idempotency/key.ts";
import type { Logger } from "./logger.ts";
import { count, countContent, countRefusal, type FailureLimit } from "./rate_limit/exchange_limits.ts";
import type { Failover } from "./rate_limit/mod.ts";
import { readText, type Timer } from "./requests/body.ts";
import { badJson, parseJson } from "./requests/json.ts";
import { noParameters, parseQuery } from "./requests/query.ts";
import { validate } from "./requests/validate.ts";
import type { Endpoint, PreparedBody } from "./routing/endpoint.ts";
import type { Parsed } from "./routing/hot_targets.ts";
import { type Call, open, type Reply } from "./routing/route.ts";
import { hostOf } from "./routing/target.ts";

/** What routes share. */
export interface Services {
  /** Null where nothing is limited. */
  readonly counter: Failover | null;
  /** Null where wrong credentials are not counted. */
  readonly failures: FailureLimit | null;
  /** Null where nothing is kept of requests. */
  readonly idempotency: Idempotency | null;
  readonly logger: Logger;
  readonly timer: Timer;
  /** Longest time that a body may take, in ms. */
  readonly bodyMsMax: number;
  /** The reply that tells of an error. */
  readonly fail: (error: unknown, endpoint: Endpoint, exchange: Exchange) => Reply;
}

/**
 * Runs one request through its route.
 *
 * @throws whatever guard, checks or handler throw.
 */
export async function run(endpoint: Endpoint, exchange: Exchange, services: Services): Promise<Reply> {
  const { route } = endpoint;
  const { limit } = endpoint;
  const counter = limit === null ? null : services.counter;
  let principal: unknown = null;
  if (route.auth !== open) {
    try {
      const raw = endpoint.readPath(exchange.target.path);
      const given = route.auth.authenticate(new Credentials(exchange, raw));
      principal = isPromise(given) ? await given : given;
    } catch (error) {
      if (counter !== null && services.failures !== null) {
        await countRefusal(error, services.failures, { exchange, counter });
      }
      throw error;
    }
  }
  const { request, info, requestId } = exchange;
  if (limit !== null && counter !== null) {
    await count(limit, { request, info, requestId, principal }, { exchange, counter });
  }
  exchange.parsed ??= parse(endpoint, exchange);
  const { params, query } = exchange.parsed;
  const call: OpenCall = { request, info, requestId, principal, params, query, body: undefined };
  const sent = endpoint.body === null ? null : await readBody(endpoint.body, exchange, services);
  if (sent !== null) call.body = sent.value;
  if (limit?.content !== undefined && counter !== null) {
    await countContent(limit.content, call, { exchange, counter });
  }
  if (route.idempotent !== undefined && services.idempotency !== null) {
    const key = idempotencyKeyOf(request);
    if (key !== null) return await once({ endpoint, exchange, call, services }, { key, body: sent?.json });
  }
  const reply = route.handle(call);
  return isPromise(reply) ? await reply : reply;
}

interface OpenCall extends Call<unknown, unknown, unknown, unknown> {
  body: unknown;
}

interface Ready {
  readonly endpoint: Endpoint;
  readonly exchange: Exchange;
  readonly call: OpenCall;
  readonly services: Services;
}

/** Carries the request out unless the same one was before. */
async function once(
  { endpoint, exchange, call, services }: Ready,
  { key, body }: { readonly key: string; readonly body: unknown },
): Promise<Reply> {
  const { route, method } = endpoint;
  const { idempotency, fail } = services;
  if (route.idempotent === undefined || idempotency === null) return await route.handle(call);
  const { path, query } = exchange.target;
  const host = hostOf(exchange.request);
  const subject = route.idempotent.subject(call);
  return await idempotency.run(
    { subject, method, host, path, query, key, body },
    {
      execute: async () => await route.handle({ ...call, idempotencyKey: key }),
      replyTo: error => fail(error, endpoint, exchange),
    },
  );
}

function parse({ route, readPath }: Endpoint, { target }: Exchange): Parsed {
  const raw = readPath(target.path);
  return {
    params: route.params === undefined ? raw : validate(route.params, raw, "parameters"),
    query:
      route.query === undefined
        ? noParameters
        : validate(route.query, parseQuery(target.query), "parameters"),
  };
}

interface Sent {
  /** As it was sent; undefined where nothing was. */
  readonly json: unknown;
  /** As its schema has it. */
  readonly value: unknown;
}

async function readBody(body: PreparedBody, exchange: Exchange, services: Services): Promise<Sent> {
  const text = await readText(exchange.request, {
    bytesMax: body.bytesMax,
    mediaTypes: body.mediaTypes,
    msMax: services.bodyMsMax,
    timer: services.timer,
    framed: exchange.info.framed === true,
  });
  if (text === "" && !body.optional) throw badJson("it is missing");
  const json = text === "" ? undefined : parseJson(text);
  return { json, value: validate(body.schema, json, "body") };
}

function isPromise<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}
