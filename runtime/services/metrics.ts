/**
 * The metrics of a process: those of the engine, and the port on which Prometheus reads all of them.
 *
 * @module
 */

import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { createHandler, type Logger } from "../../lib/http/mod.ts";
import type { Platform } from "../../lib/mod.ts";
import { createMetrics, type PlatformMetrics } from "../../lib/platform/metrics/mod.ts";
import type { Config } from "../config.ts";
import { hostDefault, type Server } from "../server/gate.ts";
import { serveHere } from "../server/serve_here.ts";

/** Creates the registry of this process if the settings ask for metrics. */
export function openMetrics({ metrics, metricsPort }: Config): PlatformMetrics | null {
  if (metrics !== true && metricsPort === undefined) return null;
  const registry = createMetrics();
  measureProcess(registry);
  return registry;
}

/** Serves `/metrics`, `/healthz` and `/readyz` on a port of their own; null: the settings name none. */
export async function serveMetrics(
  { metricsPort: port, host = hostDefault }: Config,
  registry: PlatformMetrics | null,
  { platform, logger }: { readonly platform: Platform; readonly logger: Logger },
): Promise<Server | null> {
  if (port === undefined || registry === null) return null;
  const handler = createHandler([], {
    metrics: registry,
    servesMetrics: true,
    ready: () => platform.ready(),
  });
  const onError = (error: unknown): void =>
    logger.log("error", "background_work_failed", { error: String(error) });
  const server = await serveHere(handler, { host, port, onError });
  logger.log("info", "metrics_served", { url: `${server.url}/metrics` });
  return server;
}

/** Reads processor time, memory and the delay of the event loop before each scrape. */
function measureProcess(metrics: PlatformMetrics): void {
  const processor = metrics.counter("process_cpu_seconds_total", {});
  const memory = metrics.gauge("process_resident_memory_bytes", {});
  const heap = metrics.gauge("v8js_memory_heap_used_bytes", {});
  metrics.gauge("process_start_time_seconds", {}).set(Math.round(Date.now() / 1_000 - process.uptime()));
  let spent = 0;
  metrics.beforeScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    processor.add(seconds - spent);
    spent = seconds;
    const { rss, heapUsed } = process.memoryUsage();
    memory.set(rss);
    heap.set(heapUsed);
  });
  const delays = watchEventLoop();
  if (delays === null) return;
  const p99 = metrics.gauge("nodejs_eventloop_delay_p99_seconds", {});
  const longest = metrics.gauge("nodejs_eventloop_delay_max_seconds", {});
  metrics.beforeScrape(() => {
    p99.set(delays.count === 0 ? 0 : delays.percentile(99) / 1e9);
    longest.set(delays.count === 0 ? 0 : delays.max / 1e9);
    delays.reset();
  });
}

/** Null: the runtime cannot measure it. */
function watchEventLoop(): IntervalHistogram | null {
  try {
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    return delays;
  } catch {
    return null;
  }
}
