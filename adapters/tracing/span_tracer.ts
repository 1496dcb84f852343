/** Spans of OpenTelemetry: a file of its own, as its declarations need the types of that package. */

import type * as Api from "@opentelemetry/api";
import { fieldsOf, readTrace, type TraceFields, type Tracer } from "../../lib/base/tracing/mod.ts";
import { noFields, type RequestScope } from "./passing_tracer.ts";

/**
 * Creates a tracer that records spans through the API of OpenTelemetry. Without a registered SDK the API records none, and a span stands
 * for the caller's, which is thereby passed on.
 */
export function createSpanTracer(api: typeof Api, scope: RequestScope<Api.Context>): Tracer {
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
