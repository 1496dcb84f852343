import type { CompiledConfig } from "../config/compiled.ts";
import type { MetricChange } from "../user/history.ts";
import type { UserState } from "../user/state.ts";
import type { ActionContext } from "./apply_action.ts";
import { TransactionBuilder } from "./change.ts";
import { StateDraft } from "./draft.ts";
import { LimitTracker, neverLimited } from "./held_back.ts";
import type { Outcome } from "./outcome.ts";
import { runTriggered } from "./rounds.ts";

/** How a back end corrects a user's metrics. */
export interface Adjustment {
  /** In the order in which they are made. */
  readonly changes: readonly MetricChange[];
  /** For people. */
  readonly reason: string;
  /** Unix ms. */
  readonly at: number;
}

/**
 * Corrects metrics of a user whose state is settled at that time, within their bounds; null where they are as they are to be.
 * Metrics that the configuration does not name stay as they are.
 *
 * @throws {RangeError} The state is not settled: see `settle`.
 */
export function applyAdjustment(
  compiled: CompiledConfig,
  state: UserState,
  { changes, reason, at }: Adjustment,
  { globalLimitReached = neverLimited }: ActionContext = {},
): Outcome | null {
  const draft = new StateDraft(compiled, state, Math.max(at, state.changedAt));
  const change = new TransactionBuilder();
  for (const { metricId, op, value } of changes) {
    const metric = compiled.metrics.get(metricId);
    if (metric === undefined) continue;
    draft.correctMetric(metric, op === "set" ? value - draft.metric(metricId) : value, change);
  }
  if (change.entries.length === 0) return null;
  draft.record(change.transaction("adjusted", { reason }));
  const heldBack = new LimitTracker(draft, globalLimitReached);
  runTriggered(draft, heldBack.isLimited);
  return draft.outcome({ kind: "adjustment", adjustment: { changes, reason, ...heldBack.reported } });
}
