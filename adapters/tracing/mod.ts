/**
 * Traces of requests: spans of OpenTelemetry where it is installed, and the passing on of `traceparent` everywhere.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, tracer: await openTracer() });
 * ```
 *
 * @module
 */

import type { Tracer } from "../../lib/base/tracing/mod.ts";
import { createPassingTracer, RequestScope } from "./passing_tracer.ts";
import { createSpanTracer } from "./span_tracer.ts";

export type {
  ServerSpan,
  SpanAttributes,
  TracedCall,
  TraceFields,
  Tracer,
} from "../../lib/base/tracing/mod.ts";

/** Options of {@linkcode openTracer}. */
export interface TracerOptions {
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
