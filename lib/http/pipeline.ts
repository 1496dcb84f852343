/**
 * The way of a request through its route: guard, parameters, rate limit, body, handler.
 *
 * What is no promise is not awaited: each needless turn through the microtask queue costs as much as the dispatch.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";
import type { Limiter } from "../storage/ports.ts";
import { readText, type Timer } from "./body.ts";
import type { Endpoint, PreparedBody, PreparedLimit } from "./endpoint.ts";
import { Credentials, type Exchange } from "./exchange.ts";
import type { Parsed } from "./hot_targets.ts";
import { badJson, parseJson } from "./json.ts";
import type { Logger } from "./logger.ts";
import { noParameters, parseQuery } from "./query.ts";
import { spend } from "./rate_limit.ts";
import { type Call, open, type Reply } from "./route.ts";
import { validate } from "./validate.ts";

/** What routes share. */
export interface Services {
  readonly limiter: Limiter | null;
  readonly logger: Logger;
  readonly timer: Timer;
  /** Longest time that a body may take, in ms. */
  readonly bodyMsMax: number;
}

/**
 * Runs one request through its route.
 *
 * @throws whatever guard, checks or handler throw.
 */
export async function run(endpoint: Endpoint, exchange: Exchange, services: Services): Promise<Reply> {
  const { route } = endpoint;
  let principal: unknown = null;
  if (route.auth !== open) {
    const raw = endpoint.readPath(exchange.target.path);
    const given = route.auth.authenticate(new Credentials(exchange, raw));
    principal = isPromise(given) ? await given : given;
  }
  exchange.parsed ??= parse(endpoint, exchange);
  const { request, info, requestId } = exchange;
  const { params, query } = exchange.parsed;
  const call: OpenCall = { request, info, requestId, principal, params, query, body: undefined };
  if (endpoint.limit !== null && services.limiter !== null) {
    await count(endpoint.limit, call, exchange, { limiter: services.limiter, logger: services.logger });
  }
  if (endpoint.body !== null) call.body = await readBody(endpoint.body, exchange, services);
  const reply = route.handle(call);
  return isPromise(reply) ? await reply : reply;
}

interface OpenCall extends Call<unknown, unknown, unknown, unknown> {
  body: unknown;
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

async function count(
  limit: PreparedLimit,
  call: OpenCall,
  exchange: Exchange,
  services: { readonly limiter: Limiter; readonly logger: Logger },
): Promise<void> {
  const { requestId } = exchange;
  const spent = await spend(limit.subject(call), limit.rules, { ...services, requestId });
  if (spent === null) return;
  exchange.extra = { ...exchange.extra, "ratelimit-policy": limit.policy, ratelimit: spent.remaining };
  if (spent.retryAfterMs !== null) {
    const message = "Cannot answer the request: too many were made; wait before the next";
    throw new AppError("rate_limited", message, { retryAfterMs: spent.retryAfterMs });
  }
}

async function readBody(body: PreparedBody, exchange: Exchange, services: Services): Promise<unknown> {
  const text = await readText(exchange.request, {
    bytesMax: body.bytesMax,
    mediaTypes: body.mediaTypes,
    msMax: services.bodyMsMax,
    timer: services.timer,
    framed: exchange.info.framed === true,
  });
  if (text !== "") return validate(body.schema, parseJson(text), "body");
  if (!body.optional) throw badJson("it is missing");
  return validate(body.schema, undefined, "body");
}

function isPromise<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}
