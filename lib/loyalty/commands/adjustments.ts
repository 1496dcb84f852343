/**
 * Corrections of users' metrics by back ends.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { ReadRecord, Stored, Write } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { applyAdjustment } from "../engine/mod.ts";
import type { MetricChange } from "../user/history.ts";
import type { Command } from "./command.ts";

/** How a back end corrects a user. */
export interface AdjustmentOrder {
  readonly changes: readonly MetricChange[];
  /** For people; part of the transaction. */
  readonly reason: string;
  /** A record of the user's partition that changes together with the metrics, or not at all. */
  readonly extraRecord?: ExtraRecord | undefined;
}

/** A record that changes in the same commit. */
export interface ExtraRecord {
  readonly read: ReadRecord;
  /** The record as it is to be; null: it stays. What it throws is what the whole change throws. */
  readonly write: (stored: Stored | null) => Write | null;
}

/**
 * The happening that an adjustment is.
 *
 * @throws {AppError} `validation_failed` where the configuration does not name a metric.
 */
export function adjustmentCommand(
  config: CompiledConfig,
  { changes, reason, extraRecord: beside }: AdjustmentOrder,
  now: number,
): Command {
  requireMetrics(config, changes);
  return {
    scoring: { action: "", data: {} },
    ...(beside === undefined
      ? {}
      : {
          reads: [beside.read],
          writes: ([stored]) => {
            const put = beside.write((stored ?? null) as Stored | null);
            return put === null ? [] : [put];
          },
        }),
    decide: (settled, _, { isReached: globalLimitReached }) =>
      applyAdjustment(config, settled, { changes, reason, at: now }, { globalLimitReached }),
  };
}

function requireMetrics({ metrics }: CompiledConfig, changes: readonly MetricChange[]): void {
  const fields = changes
    .filter(({ metricId }) => !metrics.has(metricId))
    .map(({ metricId }) => ({ pointer: `/metrics/${metricId}`, detail: "Is not a metric of the space" }));
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot change metrics that the space does not have", { fields });
}
