/**
 * Traces of requests: spans of OpenTelemetry where it is installed, and the passing on of `traceparent` everywhere.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, tracer: await openTracer() });
 * ```
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type * as Api from "@opentelemetry/api";
import {
  fieldsOf,
  readTrace,
  type TraceContext,
  type TraceFields,
  type Tracer,
} from "../../lib/base/tracing/mod.ts";

export type {
  ServerSpan,
  SpanAttributes,
  TracedCall,
  TraceFields,
  Tracer,
} from "../../lib/base/tracing/mod.ts";

/** Time in ms after the answer to a request for which work that it began is still part of it. */
export const lingerMsMax = 60_000;

interface Scope<T> {
  readonly value: T;
  /** Null: the request has no answer yet. */
  endedAt: number | null;
}

/**
 * A value that all work of a request shares. Loops that a request happened to start, such as the refresh of a cache, are part of it for
 * {@linkcode lingerMsMax} only.
 */
export class RequestScope<T> {
  readonly #clock: () => number;
  readonly #scopes = new AsyncLocalStorage<Scope<T>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  run<R>(value: T, work: () => Promise<R>): Promise<R> {
    const scope: Scope<T> = { value, endedAt: null };
    return this.#scopes.run(scope, async () => {
      try {
        return await work();
      } finally {
        scope.endedAt = this.#clock();
      }
    });
  }

  /** The value of the current request; null outside of requests. */
  get current(): T | null {
    const scope = this.#scopes.getStore();
    if (scope === undefined) return null;
    const isOver = scope.endedAt !== null && this.#clock() - scope.endedAt > lingerMsMax;
    return isOver ? null : scope.value;
  }
}

const noFields: TraceFields = {};

/**
 * Creates a tracer that records spans through the API of OpenTelemetry. Without a registered SDK the API records none, and a span stands
 * for the caller's, which is thereby passed on.
 */
function createSpanTracer(api: typeof Api, scope: RequestScope<Api.Context>): Tracer {
  const { context, SpanKind, SpanStatusCode, trace } = api;
  const tracer = trace.getTracer("grandstand");
  // Where nobody serves a request, a job of the embedding program may have a span.
  const parentOf = (): Api.Context => scope.current ?? context.active();

  return {
    serve(headers, work) {
      const active = context.active();
      // Instrumentation of the server may have begun a span.
      const parent = trace.getSpan(active) === undefined ? callerOf(api, headers, active) : active;
      const span = tracer.startSpan("HTTP", { kind: SpanKind.SERVER }, parent);
      if (!api.isSpanContextValid(span.spanContext())) return work(null);
      const own = trace.setSpan(parent, span);
      return scope.run(own, () =>
        context.with(own, async () => {
          try {
            return await work({ finish: served => finishServer(api, span, served) });
          } finally {
            span.end();
          }
        }),
      );
    },

    async call({ name, attributes, resultAttributes }, work) {
      const parent = parentOf();
      if (trace.getSpan(parent) === undefined) return await work(noFields);
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
      try {
        const result = await context.with(trace.setSpan(parent, span), () => work(fieldsOfSpan(span)));
        if (resultAttributes !== undefined) span.setAttributes(resultAttributes(result));
        return result;
      } catch (error) {
        span.setAttribute("error.type", kindOf(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },

    traceId: () => trace.getSpanContext(parentOf())?.traceId ?? null,
  };
}

/** Returns `active` with the span that sent the request, if it names one. */
function callerOf(api: typeof Api, headers: Pick<Headers, "get">, active: Api.Context): Api.Context {
  const caller = readTrace(headers);
  if (caller === null) return active;
  return api.trace.setSpanContext(active, {
    traceId: caller.traceId,
    spanId: caller.spanId,
    traceFlags: caller.flags,
    isRemote: true,
    ...(caller.state === null ? {} : { traceState: api.createTraceState(caller.state) }),
  });
}

function finishServer(
  { SpanStatusCode }: typeof Api,
  span: Api.Span,
  {
    method,
    route,
    status,
  }: { readonly method: string; readonly route: string | null; readonly status: number },
): void {
  // The path as sent may hold ids that are secrets.
  span.updateName(route === null ? method : `${method} ${route}`);
  span.setAttributes({
    "http.request.method": method,
    "http.response.status_code": status,
    ...(route === null ? {} : { "http.route": route }),
    ...(status < 500 ? {} : { "error.type": String(status) }),
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

function fieldsOfSpan(span: Api.Span): TraceFields {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return fieldsOf({ traceId, spanId, flags: traceFlags, state: traceState?.serialize() || null });
}

/** The code or name of an error: its message may hold secrets. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error ? String(error.code) : error.name;
}

/** Creates a tracer that records nothing and passes the traces of requests on, as the standard asks. */
export function createPassingTracer(scope: RequestScope<TraceContext>): Tracer {
  return {
    serve(headers, work) {
      const trace = readTrace(headers);
      return trace === null ? work(null) : scope.run(trace, () => work(null));
    },
    call(_call, work) {
      const trace = scope.current;
      return work(trace === null ? noFields : fieldsOf(trace));
    },
    traceId: () => scope.current?.traceId ?? null,
  };
}

/** Options of {@linkcode openTracer}. */
interface TracerOptions {
  /** Milliseconds from any origin. @default performance.now */
  readonly clock?: () => number;
}

/**
 * Opens the tracer of a process. It records spans through `@opentelemetry/api` where that is installed and an SDK is registered; else it
 * passes the trace of a request on, unchanged.
 */
export async function openTracer({ clock = () => performance.now() }: TracerOptions = {}): Promise<Tracer> {
  const api = await import("@opentelemetry/api").catch((error: unknown) => {
    if (String(error).includes("@opentelemetry/api")) return null;
    throw error;
  });
  return api === null
    ? createPassingTracer(new RequestScope(clock))
    : createSpanTracer(api, new RequestScope(clock));
}
