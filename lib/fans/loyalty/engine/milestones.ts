/**
 * Milestones: reached along a metric, and lost where users do not requalify.
 *
 * @module
 */

import type { CompiledMilestoneSet } from "../config/compiled.ts";
import type { MilestoneSet } from "../config/document.ts";
import type { MilestoneProgress } from "../user/state.ts";
import type { StateDraft } from "./draft.ts";
import { expiryTime } from "./expiry_times.ts";
import { giveRewards } from "./rewards.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

/** Finds the indexes of the milestones that were not reached before. */
export function findReachedMilestones(draft: StateDraft, { set }: CompiledMilestoneSet): readonly number[] {
  const value = set.measure === "earned" ? draft.earned(set.metricId) : draft.metric(set.metricId);
  const highest = draft.milestoneProgress(set.id)?.threshold ?? Number.NEGATIVE_INFINITY;
  return set.milestones.flatMap(({ threshold }, index) =>
    threshold > highest && threshold <= value ? [index] : [],
  );
}

export function reachMilestones(
  draft: StateDraft,
  { set, rewards }: CompiledMilestoneSet,
  indexes: readonly number[],
): void {
  for (const index of indexes) {
    const milestone = set.milestones[index];
    if (milestone === undefined || !draft.hasRoom()) continue;
    const { id: milestoneId, threshold, notification } = milestone;
    const transaction = new TransactionBuilder();
    transaction.addMilestone(set.id, draft.milestone(set.id), milestoneId);
    draft.setMilestone(set.id, heldMilestone(draft, set, { milestoneId, threshold }));
    giveRewards(draft, rewards[index] ?? [], {
      type: "milestoneReached",
      subject: {},
      notification,
      transaction,
    });
    draft.trigger("milestoneReached", set.id);
  }
}

/**
 * Ends the time for which a milestone is held. It begins anew where the metric still reaches the threshold; otherwise the user falls
 * to the highest milestone that it reaches.
 */
export function requalify(draft: StateDraft, set: MilestoneSet): void {
  const held = draft.milestoneProgress(set.id);
  if (held?.until === undefined || held.until > draft.at) return;
  const value = draft.metric(set.metricId);
  if (value >= held.threshold) {
    draft.setMilestone(set.id, heldMilestone(draft, set, held));
    return;
  }
  const lower = set.milestones.findLast(({ threshold }) => threshold <= value);
  const transaction = new TransactionBuilder();
  transaction.addMilestone(set.id, held.milestoneId, lower?.id ?? "");
  if (lower === undefined) draft.removeMilestone(set.id);
  else {
    const { id: milestoneId, threshold } = lower;
    draft.setMilestone(set.id, heldMilestone(draft, set, { milestoneId, threshold }));
  }
  draft.record(transaction.build("milestoneLost"));
}

function heldMilestone(
  draft: StateDraft,
  { requalify: end }: MilestoneSet,
  { milestoneId, threshold }: MilestoneProgress,
): MilestoneProgress {
  if (end === undefined) return { milestoneId, threshold };
  return { milestoneId, threshold, until: expiryTime(end, draft.at, draft) };
}
