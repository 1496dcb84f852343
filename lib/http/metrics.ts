/**
 * Request metrics in the Prometheus text form: counts by area, operation and status class, durations as histograms.
 *
 * @module
 */

/** Upper bounds of the duration histogram, in ms. */
export const durationBucketsMs: readonly number[] = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
];

/** Media type of the text form. */
export const metricsMediaType = "text/plain; version=0.0.4; charset=utf-8";

/** Counts the requests of one operation; recording allocates nothing. */
class Meter {
  readonly #labels: string;
  /** Index 0 counts 1xx. */
  readonly #classes = new Float64Array(5);
  readonly #buckets = new Float64Array(durationBucketsMs.length + 1);
  #sumMs = 0;
  #count = 0;

  constructor(area: string, operation: string) {
    this.#labels = `area="${area}",operation="${operation}"`;
  }

  /** Counts a request that was answered with `status` after `ms`. */
  record(status: number, ms: number): void {
    let bucket = 0;
    while (ms > (durationBucketsMs[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    const statusClass = Math.floor(status / 100) - 1;
    this.#classes[statusClass] = (this.#classes[statusClass] ?? 0) + 1;
    this.#sumMs += ms;
    this.#count++;
  }

  /** Lines of the counter; none before the first request. */
  counts(): string[] {
    return [...this.#classes].flatMap((count, index) =>
      count === 0 ? [] : [`http_requests_total{${this.#labels},status="${index + 1}xx"} ${count}`],
    );
  }

  /** Lines of the histogram in seconds; none before the first request. */
  durations(): string[] {
    if (this.#count === 0) return [];
    const name = "http_request_duration_seconds";
    let below = 0;
    const buckets = durationBucketsMs.map((bound, index) => {
      below += this.#buckets[index] ?? 0;
      return `${name}_bucket{${this.#labels},le="${bound / 1000}"} ${below}`;
    });
    return [
      ...buckets,
      `${name}_bucket{${this.#labels},le="+Inf"} ${this.#count}`,
      `${name}_sum{${this.#labels}} ${this.#sumMs / 1000}`,
      `${name}_count{${this.#labels}} ${this.#count}`,
    ];
  }
}

/** The meters of all operations, and what is counted for none of them. */
export class Meters {
  /** Requests that the shared limiter did not count, because it failed or was slow. */
  limiterFallbacks = 0;
  readonly #byOperation = new Map<string, Meter>();

  /** The meter of an operation, whose name is unique on the platform. */
  meter(area: string, operation: string): Meter {
    const existing = this.#byOperation.get(operation);
    if (existing !== undefined) return existing;
    const made = new Meter(area, operation);
    this.#byOperation.set(operation, made);
    return made;
  }

  /** The text form. */
  render(): string {
    return renderMetrics([...this.#byOperation.values()], this.limiterFallbacks);
  }
}

function renderMetrics(all: readonly Meter[], limiterFallbacks: number): string {
  const lines = [
    "# HELP http_requests_total Requests answered.",
    "# TYPE http_requests_total counter",
    ...all.flatMap(meter => meter.counts()),
    "# HELP http_request_duration_seconds Time from the request to the head of its answer.",
    "# TYPE http_request_duration_seconds histogram",
    ...all.flatMap(meter => meter.durations()),
    "# HELP rate_limiter_fallbacks_total Requests that the shared rate limiter did not count.",
    "# TYPE rate_limiter_fallbacks_total counter",
    `rate_limiter_fallbacks_total ${limiterFallbacks}`,
  ];
  return `${lines.join("\n")}\n`;
}
