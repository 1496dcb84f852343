/** The traces of requests without OpenTelemetry, and what all work of a request shares. */

import { AsyncLocalStorage } from "node:async_hooks";
import {
  fieldsOf,
  readTrace,
  type TraceContext,
  type TraceFields,
  type Tracer,
} from "../../lib/base/tracing/mod.ts";

export const noFields: TraceFields = {};

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
