/**
 * Traces: the port of spans, and the header fields of W3C Trace Context.
 *
 * @module
 */
export {
  fieldsOf,
  readTrace,
  type TraceContext,
  type TraceFields,
} from "./trace_context.ts";
export type { ServerSpan, SpanAttributes, TracedCall, Tracer } from "./tracer.ts";
