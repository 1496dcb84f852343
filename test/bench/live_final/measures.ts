/** Latencies and counts, whole and by second. */

/** Latencies of one kind, in buckets that are 5 % wide. */
export class Latencies {
  readonly #buckets = new Uint32Array(300);
  count = 0;
  maxMs = 0;

  add(ms: number): void {
    const bucket = Math.min(299, Math.max(0, Math.floor(Math.log(Math.max(ms, 0.1) * 10) / growth)));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.count += 1;
    this.maxMs = Math.max(this.maxMs, ms);
  }

  /** Returns the upper bound of the bucket in which the quantile is, in ms. */
  quantile(share: number): number {
    let left = this.count * share;
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return Math.min(this.maxMs, Math.exp((bucket + 1) * growth) / 10);
    }
    return 0;
  }
}

const growth = Math.log(1.05);

/** What happened in one second. */
export interface Second {
  readonly latencies: Latencies;
  /** Attempts that were repeated, by their reason: a status or the code of a lost connection. */
  readonly repeats: Map<string, number>;
}

/** Everything that is measured at the clients. */
export class Measures {
  readonly startedAt: number;
  readonly routes = new Map<string, Latencies>();
  readonly seconds: Second[] = [];
  /** Answers that no repetition makes better, by route and status. */
  readonly refusals = new Map<string, number>();
  repeats = 0;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  /** Counts an answer by the time from when it was meant to be requested. */
  answered(route: string, intendedAt: number): void {
    const now = performance.now();
    const ms = now - intendedAt;
    let latencies = this.routes.get(route);
    if (latencies === undefined) {
      latencies = new Latencies();
      this.routes.set(route, latencies);
    }
    latencies.add(ms);
    this.#second(now).latencies.add(ms);
  }

  repeated(reason: string): void {
    this.repeats += 1;
    const { repeats } = this.#second(performance.now());
    repeats.set(reason, (repeats.get(reason) ?? 0) + 1);
  }

  refused(route: string, status: number): void {
    const key = `${route} ${status}`;
    this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1);
  }

  #second(now: number): Second {
    const index = Math.max(0, Math.floor((now - this.startedAt) / 1_000));
    while (this.seconds.length <= index) {
      this.seconds.push({ latencies: new Latencies(), repeats: new Map() });
    }
    return this.seconds[index] as Second;
  }
}
