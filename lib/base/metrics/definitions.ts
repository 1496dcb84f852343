/**
 * Every metric of the platform: dashboards, alert rules and the guide name these and no others.
 *
 * Names follow the conventions of OpenTelemetry in their Prometheus form: base units, `_total` for counters.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
 *
 * @module
 */

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
  grandstand_store_operation_duration_seconds: {
    kind: "histogram",
    labels: ["operation", "outcome"],
    help: "Round trips to the store: read or commit; ok, conflict (a commit that was decided again), failed or unknown.",
  },
  grandstand_queue_messages_total: {
    kind: "counter",
    labels: ["step"],
    help: "Messages of the queue of actions by step: pushed, taken, redelivered or settled.",
  },
  grandstand_queue_depth: {
    kind: "gauge",
    labels: [],
    help: "Accepted actions that are not applied yet, of all processes.",
  },
  grandstand_queue_oldest_age_seconds: {
    kind: "gauge",
    labels: [],
    help: "Age of the oldest accepted action that is not applied yet; 0 where there is none.",
  },
  grandstand_dead_letters: {
    kind: "gauge",
    labels: [],
    help: "Actions that could not be applied and wait for a replay, of the 500 oldest organisations.",
  },
  grandstand_worker_alive: {
    kind: "gauge",
    labels: [],
    help: "Is 1 where some process applies queued actions, else 0.",
  },
  grandstand_worker_shards: {
    kind: "gauge",
    labels: [],
    help: "Shards of the queue that the worker of this process consumes.",
  },
  grandstand_work_round_duration_seconds: {
    kind: "histogram",
    labels: ["outcome"],
    help: "Rounds of periodic work (due users, webhooks, exports, seasons): ok or failed.",
  },
  grandstand_due_users_total: {
    kind: "counter",
    labels: ["outcome"],
    help: "Users whose due work was done by periodic work: processed or failed.",
  },
  grandstand_board_feed_delay_seconds: {
    kind: "histogram",
    labels: ["outcome"],
    help: "Time from an action to its scores on boards: delivered, or deferred to periodic work.",
  },
  grandstand_board_listeners: {
    kind: "gauge",
    labels: [],
    help: "Listeners of live streams at this process.",
  },
  grandstand_webhook_duration_seconds: {
    kind: "histogram",
    labels: ["outcome"],
    help: "Attempts to deliver webhooks: delivered, refused or unreachable.",
  },
  grandstand_mail_duration_seconds: {
    kind: "histogram",
    labels: ["kind", "outcome"],
    help: "Mails given to the mail server by kind: accepted or failed.",
  },
  grandstand_outbound_duration_seconds: {
    kind: "histogram",
    labels: ["operation", "outcome"],
    help: "Calls of addresses that authors name, such as backends of workflows: answered or failed.",
  },
  grandstand_log_events_total: {
    kind: "counter",
    labels: ["level", "event"],
    help: "Log lines by event, whatever level is written: lost leases, dead letters, exports, failed work.",
  },
  grandstand_build_info: {
    kind: "gauge",
    labels: ["version"],
    help: "Is 1, with the version of Grandstand.",
  },
  process_cpu_seconds_total: {
    kind: "counter",
    labels: [],
    help: "Processor time of this process.",
  },
  process_resident_memory_bytes: {
    kind: "gauge",
    labels: [],
    help: "Resident memory of this process.",
  },
  process_start_time_seconds: {
    kind: "gauge",
    labels: [],
    help: "Unix time at which this process started.",
  },
  v8js_memory_heap_used_bytes: {
    kind: "gauge",
    labels: [],
    help: "Used heap of the engine.",
  },
  nodejs_eventloop_delay_p99_seconds: {
    kind: "gauge",
    labels: [],
    help: "The 99th percentile of the delay of the event loop in the last 30 to 60 seconds.",
  },
  nodejs_eventloop_delay_max_seconds: {
    kind: "gauge",
    labels: [],
    help: "Longest delay of the event loop in the last 30 to 60 seconds.",
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
