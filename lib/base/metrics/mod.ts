/** Metrics of a process: one table of definitions, their instruments, and a registry that prints them for Prometheus. */

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

/** A value of a metric with its labels. */
export interface MetricSample {
  /** Name of the metric, with `_bucket`, `_sum` or `_count` where it is a part of a histogram. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type AddSample = (suffix: string, value: number, bound?: string) => void;

export class Counter {
  #value = 0;

  add(count = 1): void {
    this.#value += count;
  }

  sample(add: AddSample): void {
    add("", this.#value);
  }
}

export class Gauge {
  #value = 0;

  set(value: number): void {
    this.#value = value;
  }

  add(change: number): void {
    this.#value += change;
  }

  sample(add: AddSample): void {
    add("", this.#value);
  }
}

export class Histogram {
  readonly #buckets = new Float64Array(bucketBounds.length + 1);
  #sum = 0;

  record(seconds: number): void {
    let bucket = 0;
    while (seconds > (bucketBounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  sample(add: AddSample): void {
    let below = 0;
    this.#buckets.forEach((count, index) => {
      below += count;
      add("_bucket", below, String(bucketBounds[index] ?? "+Inf"));
    });
    add("_sum", this.#sum);
    add("_count", below);
  }
}

type Definitions = typeof metricDefinitions;
export type MetricName = keyof Definitions;
type NameOf<K extends MetricDefinition["kind"]> = {
  [N in MetricName]: Definitions[N]["kind"] extends K ? N : never;
}[MetricName];
/** Values of the labels of a metric. An empty value is as good as no label. */
type LabelsOf<N extends MetricName> = Readonly<Record<Definitions[N]["labels"][number], string>>;

/** Media type of the text form. */
export const metricsMediaType = "text/plain; version=0.0.4; charset=utf-8";

export interface MetricsOptions {
  /** Ms from any origin. @default performance.now */
  readonly clock?: () => number;
  /** Calls a function after a time in ms, and returns what cancels it. @default setTimeout */
  readonly timer?: (callback: () => void, ms: number) => () => void;
}

/** Least time between two readings for scrapes, in ms. */
const readMsMin = 2_000;
/** Longest time that a scrape waits for readings, in ms. */
const readMsMax = 3_000;

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly instrument: Counter | Gauge | Histogram;
}

export class Metrics {
  readonly #clock: () => number;
  readonly #timer: NonNullable<MetricsOptions["timer"]>;
  readonly #metrics: ReadonlyMap<MetricName, Map<string, Series>>;
  readonly #readers = new Set<() => unknown>();
  #reading: Promise<void> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor({ clock = () => performance.now(), timer = startTimeout }: MetricsOptions = {}) {
    this.#clock = clock;
    this.#timer = timer;
    const names = Object.keys(metricDefinitions) as MetricName[];
    this.#metrics = new Map(names.map(name => [name, new Map()]));
    // A counter without labels is shown from the beginning, so that its first step is a rate.
    for (const [name, { kind, labels }] of Object.entries(metricDefinitions)) {
      if (kind === "counter" && labels.length === 0) this.counter(name as never, {} as never);
    }
  }

  /** Returns the counter of these labels, the same one each time. Keep it where speed counts. */
  counter<N extends NameOf<"counter">>(name: N, labels: LabelsOf<N>): Counter {
    return this.#instrument(name, labels, () => new Counter());
  }

  gauge<N extends NameOf<"gauge">>(name: N, labels: LabelsOf<N>): Gauge {
    return this.#instrument(name, labels, () => new Gauge());
  }

  histogram<N extends NameOf<"histogram">>(name: N, labels: LabelsOf<N>): Histogram {
    return this.#instrument(name, labels, () => new Histogram());
  }

  /**
   * Calls `read` before a scrape, at most every 2 s, so that it can set gauges. A scrape waits for it up to 3 s. Where it throws,
   * its gauges keep their values and the failure is counted.
   *
   * @returns A function that ends this.
   */
  beforeScrape(read: () => unknown): () => void {
    this.#readers.add(read);
    return () => this.#readers.delete(read);
  }

  /** Returns the Prometheus text form (version 0.0.4), metrics in the order of their definitions. */
  async render(): Promise<string> {
    await this.#read();
    const lines = [...this.#metrics].flatMap(([name, series]) => {
      const { kind, help } = metricDefinitions[name];
      const head = [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`];
      return series.size === 0 ? [] : [...head, ...samplesOf(name, series).map(lineOf)];
    });
    return `${lines.join("\n")}\n`;
  }

  async snapshot(): Promise<readonly MetricSample[]> {
    await this.#read();
    return [...this.#metrics].flatMap(([name, series]) => samplesOf(name, series));
  }

  /** Reads what is only known when asked for; scrapes of the same time share a reading. */
  async #read(): Promise<void> {
    if (this.#reading === null && this.#clock() - this.#readAt >= readMsMin) {
      this.#readAt = this.#clock();
      this.#reading = Promise.all([...this.#readers].map(read => this.#readOne(read))).then(() => {
        this.#reading = null;
      });
    }
    if (this.#reading === null) return;
    let cancel = (): void => {};
    const late = new Promise<void>(resolve => {
      cancel = this.#timer(resolve, readMsMax);
    });
    await Promise.race([this.#reading, late]);
    cancel();
  }

  async #readOne(read: () => unknown): Promise<void> {
    try {
      await read();
    } catch {
      this.counter("grandstand_metrics_read_failures_total", {}).add();
    }
  }

  #instrument<I extends Series["instrument"]>(
    name: MetricName,
    labels: Readonly<Record<string, string>>,
    make: () => I,
  ): I {
    const series = this.#metrics.get(name);
    const key = Object.values(labels).join("\n");
    const existing = series?.get(key);
    if (existing !== undefined) return existing.instrument as I;
    const instrument = make();
    series?.set(key, { labels, instrument });
    return instrument;
  }
}

function samplesOf(name: MetricName, series: ReadonlyMap<string, Series>): MetricSample[] {
  const samples: MetricSample[] = [];
  for (const { labels, instrument } of series.values()) {
    instrument.sample((suffix, value, le) => {
      samples.push({ name: name + suffix, labels: le === undefined ? labels : { ...labels, le }, value });
    });
  }
  return samples;
}

function lineOf({ name, labels, value }: MetricSample): string {
  const pairs = Object.entries(labels).flatMap(([label, text]) =>
    text === "" ? [] : [`${label}="${text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`],
  );
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function startTimeout(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
