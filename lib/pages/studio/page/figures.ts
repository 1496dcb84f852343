/** Rates and quantiles from two readings of the metrics of a process. */

import type { Process } from "../../../client/mod.ts";

export type Reading = Process["data"]["attributes"];
type Figure = NonNullable<Reading["figures"]>[number];

/** Selects figures by their labels. */
export type Select = (labels: Readonly<Record<string, string>>) => boolean;

/** A route as the last readings show it. */
export interface RouteFigures {
  readonly name: string;
  readonly perSecond: number;
  /** Seconds. */
  readonly p99: number;
}

const all: Select = () => true;
const keyOf = ({ name, labels }: Figure): string => JSON.stringify([name, labels]);

/** The difference between two readings of one process. */
export class Comparison {
  readonly #bounds: readonly number[];
  readonly #seconds: number;
  readonly #now: readonly Figure[];
  readonly #before: ReadonlyMap<string, Figure>;

  constructor(before: Reading, now: Reading) {
    this.#bounds = now.bucket_bounds;
    this.#seconds = now.measured_at - before.measured_at;
    this.#now = now.figures ?? [];
    this.#before = new Map((before.figures ?? []).map(figure => [keyOf(figure), figure]));
  }

  /** Returns the sum of gauges; null where there are none. */
  value(name: string): number | null {
    const found = this.#named(name, all);
    return found.length === 0 ? null : found.reduce((sum, { value = 0 }) => sum + value, 0);
  }

  /** Returns the count of counters since the process began. */
  total(name: string, select: Select): number {
    return this.#named(name, select).reduce((sum, { value = 0 }) => sum + value, 0);
  }

  /** Returns how often counters or histograms counted in a second. */
  rate(name: string, select: Select = all): number {
    const counted = this.#named(name, select).reduce((sum, figure) => sum + this.#countedIn(figure), 0);
    return this.#seconds <= 0 ? 0 : counted / this.#seconds;
  }

  /** Returns a quantile of histograms in seconds, as Prometheus interpolates it; null where nothing was counted. */
  quantile(name: string, share: number, select: Select = all): number | null {
    const sums = [...this.#bounds.map(() => 0), 0];
    for (const figure of this.#named(name, select)) {
      const before = this.#before.get(keyOf(figure))?.buckets;
      figure.buckets?.forEach((count, index) => {
        sums[index] = (sums[index] ?? 0) + count - (before?.[index] ?? 0);
      });
    }
    const wanted = share * (sums.at(-1) ?? 0);
    if (wanted === 0) return null;
    const index = sums.findIndex(count => count >= wanted);
    const [low = 0, high = this.#bounds.at(-1) ?? 0] = [this.#bounds[index - 1], this.#bounds[index]];
    const [below = 0, upTo = 0] = [sums[index - 1], sums[index]];
    return low + ((high - low) * (wanted - below)) / (upTo - below);
  }

  /** Returns the routes that were called, the busiest first. */
  routes(): readonly RouteFigures[] {
    const name = "http_server_request_duration_seconds";
    const nameOf = (labels: Figure["labels"]): string => `${labels.http_request_method} ${labels.http_route}`;
    const names = new Set(this.#named(name, all).map(({ labels }) => nameOf(labels)));
    const routes = [...names].map(each => {
      const select: Select = labels => nameOf(labels) === each;
      const p99 = this.quantile(name, 0.99, select) ?? 0;
      return { name: each, perSecond: this.rate(name, select), p99 };
    });
    return routes
      .filter(({ perSecond }) => perSecond > 0)
      .sort((a, b) => b.perSecond - a.perSecond || (a.name < b.name ? -1 : 1));
  }

  #named(name: string, select: Select): readonly Figure[] {
    return this.#now.filter(figure => figure.name === name && select(figure.labels));
  }

  #countedIn(figure: Figure): number {
    const count = ({ value = 0, buckets }: Figure): number => buckets?.at(-1) ?? value;
    const before = this.#before.get(keyOf(figure));
    return count(figure) - (before === undefined ? 0 : count(before));
  }
}
