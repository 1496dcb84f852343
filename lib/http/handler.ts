/**
 * The one place where areas become a {@linkcode Handler}.
 *
 * @module
 */

import type { Limiter } from "../storage/mod.ts";
import { Idempotency, type IdempotencyOptions } from "./idempotency/idempotency.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { Meters } from "./metrics.ts";
import { openapiDocument } from "./openapi/document.ts";
import type { FailureLimit } from "./rate_limit/exchange_limits.ts";
import { Failover } from "./rate_limit/mod.ts";
import { type CorsOptions, prepareCors } from "./replies/cors.ts";
import { bodyMsMaxDefault, systemTimer, type Timer } from "./requests/body.ts";
import { requestIds } from "./requests/request_id.ts";
import { Dispatcher } from "./routing/dispatcher.ts";
import { prepareEndpoints } from "./routing/endpoint.ts";
import type { AnyRoute, Area, ClientInfo, Handler, Reply } from "./routing/route.ts";
import { systemArea } from "./system.ts";

/** What a handler is built with; every part has a default. */
export interface HandlerOptions {
  /** Milliseconds from any origin, for durations; should not jump. @default performance.now */
  readonly clock?: () => number;
  /** Makes a request id where the caller sent none. @default random prefix and counter */
  readonly requestId?: () => string;
  /** @default silentLogger */
  readonly logger?: Logger;
  /** Counts the rate limits of routes. Omitted: nothing is limited. */
  readonly limiter?: Limiter;
  /**
   * Counts in this process while `limiter` fails or takes longer than `limiterMsMax`: a memory limiter. Omitted: requests
   * wait for `limiter` as long as it takes and pass uncounted when it fails, but for those of routes that refuse.
   */
  readonly localLimiter?: Limiter;
  /** How wrong credentials are counted on routes that have a limit. Omitted: not at all. */
  readonly failureLimit?: FailureLimit;
  /** Where the answers to requests with an `Idempotency-Key` are kept. Omitted: the field is ignored. */
  readonly idempotency?: IdempotencyOptions;
  /** `false` leaves cross-origin answers to somebody in front. @default {} */
  readonly cors?: CorsOptions | false;
  /** Resolves when the store answers, for `GET /readyz`. @default resolves */
  readonly ready?: () => Promise<void>;
  /** Title of the OpenAPI document. @default "Grandstand" */
  readonly title?: string;
  /** Version of the OpenAPI document. @default "0" */
  readonly version?: string;
  /** Address under which clients reach the handler, without a slash at its end. @default "" */
  readonly publicUrl?: string;
  /** Whether requests are measured and `GET /metrics` exists. @default false */
  readonly metrics?: boolean;
  /** Longest time that a body may take to arrive, in ms. @default 10_000 */
  readonly bodyMsMax?: number;
  /** @default systemTimer */
  readonly timer?: Timer;
  /** Receives each reply of a route before it is sent, for tests that compare it with its schema. @default nothing */
  readonly inspect?: (reply: Reply, route: AnyRoute) => void;
}

/**
 * Makes one handler from the route tables of any number of areas, together with `GET /healthz`, `/readyz`,
 * `/openapi.json` and, where enabled, `/metrics`. The handler never rejects: whatever fails is an answer.
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
 *   responses: { 200: { description: "A greeting" } },
 *   handle: ({ params }) => json(200, { hello: params.name }),
 * });
 * const handler = createHandler([{ name: "hello", family: "problem", routes: [hello] }]);
 * const response = await handler(new Request("http://localhost/hello/world"));
 * ```
 *
 * @throws `TypeError` for a mistake in a route table or in the origins of CORS.
 */
export function createHandler(areas: readonly Area[], options: HandlerOptions = {}): Handler {
  const { title = "Grandstand", version = "0", publicUrl = "", cors = {} } = options;
  const meters = options.metrics === true ? new Meters() : null;
  const system = systemArea({
    ready: options.ready ?? (() => Promise.resolve()),
    document: () => openapiDocument(endpoints, { title, version, publicUrl }),
    meters,
  });
  const endpoints = prepareEndpoints([...areas, system]);
  const {
    clock = () => performance.now(),
    logger = silentLogger,
    timer = systemTimer,
    idempotency,
  } = options;
  const dispatcher = new Dispatcher(endpoints, {
    clock,
    requestId: options.requestId ?? requestIds(),
    logger,
    counter: options.limiter === undefined ? null : counterOf(options.limiter, { ...options, meters }),
    failures: options.failureLimit ?? null,
    idempotency: idempotency === undefined ? null : new Idempotency({ ...idempotency, timer, logger }),
    cors: cors === false ? null : prepareCors(cors),
    publicUrl,
    meters,
    bodyMsMax: options.bodyMsMax ?? bodyMsMaxDefault,
    timer,
    inspect: options.inspect ?? null,
  });
  const unknownClient: ClientInfo = {};
  return (request, info = unknownClient) => dispatcher.handle(request, info);
}

function counterOf(
  limiter: Limiter,
  options: Omit<HandlerOptions, "metrics"> & { readonly meters: Meters | null },
): Failover {
  const { clock = () => performance.now(), logger = silentLogger, timer = systemTimer, meters } = options;
  return new Failover({
    limiter,
    local: options.localLimiter ?? null,
    clock,
    timer,
    onOutage: reason => logger.log("error", "rate_limiter_failed", { reason }),
    onRecovery: () => logger.log("info", "rate_limiter_recovered", {}),
    onUncounted: () => {
      if (meters !== null) meters.limiterFallbacks += 1;
    },
  });
}
