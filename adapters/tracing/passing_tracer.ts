import {
  fieldsOf,
  readTrace,
  type TraceContext,
  type TraceFields,
  type Tracer,
} from "../../lib/base/tracing/mod.ts";
import type { RequestScope } from "./request_scope.ts";

const noFields: TraceFields = {};

/** Creates a tracer that records nothing and passes the traces of requests on, as the standard asks of a service without spans. */
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
