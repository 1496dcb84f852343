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

/** Time over which delays of the event loop are collected, in ms: longer than the pause between two scrapes. */
const delayWindowMs = 30_000;

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
  const read = () =>
    delays.count === 0 ? { p99: 0, max: 0 } : { p99: delays.percentile(99) / 1e9, max: delays.max / 1e9 };
  let before = { p99: 0, max: 0 };
  // By time, as several readers must not take peaks away from each other.
  setInterval(() => {
    before = read();
    delays.reset();
  }, delayWindowMs).unref();
  metrics.beforeScrape(() => {
    const now = read();
    p99.set(Math.max(before.p99, now.p99));
    longest.set(Math.max(before.max, now.max));
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
