/** Traces: the port of spans, and the header fields of W3C Trace Context. */

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Bit 0: the trace is recorded. */
  readonly flags: number;
  /** `tracestate` as sent; null: there is none that can be passed on. */
  readonly state: string | null;
}

/** Header fields that pass a trace on; empty outside of traces. */
export type TraceFields = Readonly<Record<string, string>>;

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const stateShape = /^[\x20-\x7e]{1,512}$/;
const zeros = /^0+$/;
/** Flags that the standard defines: sampled, random. */
const knownFlags = 0b11;

/** Reads the trace of a request; null: it names none, or a malformed one, which the standard ignores. */
export function readTrace(headers: Pick<Headers, "get">): TraceContext | null {
  const text = headers.get("traceparent");
  if (text === null) return null;
  const [, version, traceId = "", spanId = "", flags = "", rest] = shape.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  const state = headers.get("tracestate");
  return {
    traceId,
    spanId,
    flags: Number.parseInt(flags, 16) & knownFlags,
    state: state !== null && stateShape.test(state) ? state : null,
  };
}

export function fieldsOf({ traceId, spanId, flags, state }: TraceContext): TraceFields {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}

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
