/**
 * Orders in which users can be asked for: those that are kept by an index.
 *
 * @module
 */

import type { FieldError } from "../../errors/mod.ts";

/** An order that was asked for. */
export interface Sort {
  readonly field: string;
  readonly order: "asc" | "desc";
}

/** Which orders there are. */
export interface SortableMetrics {
  /** Metrics that are declared as indexed. */
  readonly declared: readonly string[];
  /** Those whose index is whole. */
  readonly built: ReadonlySet<string>;
}

const prefix = "metrics.";

/** What is wrong with an order; null: nothing. */
export function sortFault({ field }: Sort, { declared, built }: SortableMetrics): FieldError | null {
  if (field === "createdAt" || field === "lastActiveAt") return null;
  const metricId = field.startsWith(prefix) ? field.slice(prefix.length) : null;
  const pointer = "/sort/0/field";
  if (metricId === null) {
    return {
      pointer,
      detail: "Expected createdAt, lastActiveAt or an indexed metric such as metrics.points",
    };
  }
  if (!declared.includes(metricId)) {
    return {
      pointer,
      detail: `Declare ${field} in settings.audience.indexes of the organisation to sort by it`,
    };
  }
  if (built.has(metricId)) return null;
  return { pointer, detail: `The index of ${field} is still being built: sort by createdAt until then` };
}
