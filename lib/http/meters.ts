/** The metrics of requests, prepared for the request path. */

import type { Counter, Gauge, Histogram, Metrics } from "../base/metrics/mod.ts";
import type { Endpoint } from "./dispatch/endpoint.ts";

export class Meters {
  readonly metrics: Metrics;
  readonly active: Gauge;
  readonly fallbacks: Counter;
  /** Null: requests to no route. */
  readonly #durations = new Map<Endpoint | null, Map<number, Histogram>>();
  readonly #decisions = new Map<string, { readonly allowed: Counter; readonly refused: Counter }>();

  constructor(metrics: Metrics) {
    this.metrics = metrics;
    this.active = metrics.gauge("http_server_active_requests", {});
    this.fallbacks = metrics.counter("grandstand_rate_limiter_fallbacks_total", {});
  }

  record(endpoint: Endpoint | null, status: number, ms: number): void {
    let byStatus = this.#durations.get(endpoint);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#durations.set(endpoint, byStatus);
    }
    let durations = byStatus.get(status);
    if (durations === undefined) {
      durations = this.metrics.histogram("http_server_request_duration_seconds", {
        http_request_method: endpoint?.method ?? "_OTHER",
        http_route: endpoint?.path ?? "",
        http_response_status_code: String(status),
      });
      byStatus.set(status, durations);
    }
    durations.record(ms / 1_000);
  }

  decide(policy: string, isAllowed: boolean): void {
    let counters = this.#decisions.get(policy);
    if (counters === undefined) {
      const of = (outcome: string): Counter =>
        this.metrics.counter("grandstand_rate_limit_decisions_total", { policy, outcome });
      counters = { allowed: of("allowed"), refused: of("refused") };
      this.#decisions.set(policy, counters);
    }
    (isAllowed ? counters.allowed : counters.refused).add();
  }
}
