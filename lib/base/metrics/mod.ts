/**
 * Metrics of a process: one table of definitions, their instruments, and a registry that prints them for Prometheus.
 *
 * @module
 */
export { bucketBounds, type MetricDefinition, metricDefinitions } from "./definitions.ts";
export type { Counter, Gauge, Histogram, MetricSample } from "./instruments.ts";
export {
  type LabelsOf,
  type MetricName,
  Metrics,
  type MetricsOptions,
  metricsMediaType,
} from "./registry.ts";
