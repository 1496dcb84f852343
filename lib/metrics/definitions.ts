/**
 * Every metric of the platform: dashboards, alert rules and the guide name these and no others.
 *
 * Names follow the conventions of OpenTelemetry in their Prometheus form: base units, `_total` for counters.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
 *
 * @module
 */

/** A metric. */
export interface MetricDefinition {
  readonly kind: "counter" | "gauge" | "histogram";
  /** Names of its labels. Their values are few and known: never ids or paths as sent. */
  readonly labels: readonly string[];
  readonly help: string;
}

/** The definitions by name. */
export const metricDefinitions = {
  http_server_request_duration_seconds: {
    kind: "histogram",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    help: "Time from a request to the head of its answer, by the method and the pattern of its route.",
  },
  http_server_active_requests: {
    kind: "gauge",
    labels: [],
    help: "Requests whose answer has not begun.",
  },
  grandstand_rate_limit_decisions_total: {
    kind: "counter",
    labels: ["policy", "outcome"],
    help: "Decisions of rate limits by policy: allowed or refused.",
  },
  grandstand_rate_limiter_fallbacks_total: {
    kind: "counter",
    labels: [],
    help: "Requests that the shared rate limiter did not count, because it failed or was slow.",
  },
  grandstand_metrics_read_failures_total: {
    kind: "counter",
    labels: [],
    help: "Figures that could not be read for a scrape, for example because the store did not answer.",
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** Upper bounds of the buckets of every histogram, in seconds. */
export const bucketBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
