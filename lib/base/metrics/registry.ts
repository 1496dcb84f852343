/**
 * The registry of a process: the instruments by metric and labels, their text form, and what is read for a scrape.
 *
 * @module
 */

import { type MetricDefinition, metricDefinitions } from "./definitions.ts";
import { Counter, Gauge, Histogram, type MetricSample } from "./instruments.ts";

type Definitions = typeof metricDefinitions;
export type MetricName = keyof Definitions;
type NameOf<K extends MetricDefinition["kind"]> = {
  [N in MetricName]: Definitions[N]["kind"] extends K ? N : never;
}[MetricName];
/** Values of the labels of a metric. An empty value is as good as no label. */
export type LabelsOf<N extends MetricName> = Readonly<Record<Definitions[N]["labels"][number], string>>;

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

/** An instrument with the values of its labels. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly instrument: Counter | Gauge | Histogram;
}

/** The registry of one process. */
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

  /** Returns every value, for programs. */
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
