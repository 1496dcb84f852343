/**
 * Metrics of a process, as the option `metrics` of `createPlatform`: requests, store, queue, boards, webhooks, mail and log events.
 *
 * @module
 */
export { type MetricSample, metricDefinitions, metricsMediaType } from "../../base/metrics/mod.ts";
export { createMetrics, type PlatformMetrics } from "./platform_metrics.ts";
