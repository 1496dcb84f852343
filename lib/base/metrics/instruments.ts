/**
 * Counters, gauges and histograms. Recording allocates nothing.
 *
 * @module
 */

import { bucketBounds } from "./definitions.ts";

/** A value of a metric with its labels. */
export interface MetricSample {
  /** Name of the metric, with `_bucket`, `_sum` or `_count` where it is a part of a histogram. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Adds a sample of the instrument. */
type AddSample = (suffix: string, value: number, bound?: string) => void;

/** Counts up. */
export class Counter {
  #value = 0;

  add(count = 1): void {
    this.#value += count;
  }

  sample(add: AddSample): void {
    add("", this.#value);
  }
}

/** Shows a value that rises and falls. */
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

/** Counts durations by size. */
export class Histogram {
  readonly #buckets = new Float64Array(bucketBounds.length + 1);
  #sum = 0;

  /** Counts a duration in seconds. */
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
