/**
 * The metrics of a platform: its registry, and the measuring of its ports.
 *
 * @module
 */

import { Metrics, type MetricsOptions } from "../../base/metrics/mod.ts";
import { type FigureSources, readFigures } from "./figures.ts";
import { boardDelay, type Elapsed, measuredPorts, type Ports } from "./measured_ports.ts";

/** The metrics of one process, for the option `metrics` of `createPlatform`. */
export class PlatformMetrics extends Metrics {
  readonly #elapsed: Elapsed;

  constructor(options: MetricsOptions = {}) {
    super(options);
    this.#elapsed = options.clock ?? (() => performance.now());
  }

  /** Returns ports that measure their calls. */
  ports<P extends Ports>(ports: P): P {
    return { ...ports, ...measuredPorts(ports, this, this.#elapsed) };
  }

  /** Returns what measures how long boards lag behind actions. */
  boardDelay(): ReturnType<typeof boardDelay> {
    return boardDelay(this, this.#elapsed);
  }

  /** Reads figures of the platform before each scrape. */
  readFigures(sources: FigureSources): void {
    readFigures(this, sources);
  }
}

/** Creates the metrics of a process. */
export function createMetrics(options: MetricsOptions = {}): PlatformMetrics {
  return new PlatformMetrics(options);
}
