/**
 * The port of traces.
 *
 * @module
 */

import type { TraceFields } from "./trace_context.ts";

/** Attributes of a span, named by the conventions of OpenTelemetry. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** The span of a request. */
export interface ServerSpan {
  /** Names the span by the route, and notes the status. */
  finish(served: {
    readonly method: string;
    /** Null: no route was found. */
    readonly route: string | null;
    readonly status: number;
  }): void;
}

/** A call that a request makes. */
export interface TracedCall<T> {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** Returns further attributes once there is a result. @default none */
  readonly resultAttributes?: (result: T) => SpanAttributes;
}

/** Records spans, and passes traces on. It must not throw. */
export interface Tracer {
  /**
   * Runs the work of a request in a span. Its parent is the one that `traceparent` names.
   *
   * @param work Gets null where nothing is recorded.
   */
  serve<T>(headers: Pick<Headers, "get">, work: (span: ServerSpan | null) => Promise<T>): Promise<T>;
  /**
   * Runs a call in a span of the current request. Outside of requests no span is recorded.
   *
   * @param work Gets the header fields that pass the trace on.
   */
  call<T>(call: TracedCall<T>, work: (fields: TraceFields) => Promise<T>): Promise<T>;
  /** Id of the current trace; null outside of traces. */
  traceId(): string | null;
}
