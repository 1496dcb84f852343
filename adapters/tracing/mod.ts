/**
 * Traces of requests: spans of OpenTelemetry where it is installed, and the passing on of `traceparent` everywhere.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, tracer: await openTracer() });
 * ```
 *
 * @module
 */
export type {
  ServerSpan,
  SpanAttributes,
  TracedCall,
  TraceFields,
  Tracer,
} from "../../lib/base/tracing/mod.ts";
export { openTracer, type TracerOptions } from "./open_tracer.ts";
