/**
 * The header fields that join the requests of several services to one trace.
 *
 * @see https://www.w3.org/TR/trace-context/
 *
 * @module
 */

/** The trace of a request, and the span that sent it. */
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

/** Writes the header fields of a trace. */
export function fieldsOf({ traceId, spanId, flags, state }: TraceContext): TraceFields {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}
