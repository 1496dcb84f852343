/**
 * Board scores that follow from what happened to a user.
 *
 * @module
 */

import type { Gain, ScoreTarget, ScoreUpdate } from "../ports/score_feed.ts";
import type { ReadRecord, Stored, Write } from "../storage/mod.ts";
import { own } from "./_own.ts";
import type { UserState } from "./state.ts";

type SumTarget = Extract<ScoreTarget, { kind: "sum" }>;

/** A running sum that changed. */
export interface SumTotal extends Pick<SumTarget, "id" | "keepUntil"> {
  readonly total: number;
}

/** The targets that keep a running sum for each user. */
export function sumTargets(targets: readonly ScoreTarget[]): readonly SumTarget[] {
  return targets.filter(target => target.kind === "sum");
}

/** Reads a running sum. */
export function sumRead(targetId: string): ReadRecord {
  return { type: "record", key: `sum:${targetId}` };
}

/** The sums that a gain changes. */
export function sumTotals(
  sums: readonly SumTarget[],
  stored: readonly (Stored | null)[],
  gain: Gain,
): readonly SumTotal[] {
  const totals: SumTotal[] = [];
  let index = 0;
  for (const { id, keepUntil, amount } of sums) {
    const record = stored[index++] ?? null;
    const added = amount(gain);
    if (added === 0) continue;
    const total = (record === null ? 0 : Number(record.value)) + added;
    totals.push(keepUntil === undefined ? { id, total } : { id, total, keepUntil });
  }
  return totals;
}

/** Keeps a running sum. */
export function sumWrite({ id, total, keepUntil }: SumTotal): Write {
  const put = { type: "put", key: sumRead(id).key, value: String(total) } as const;
  return keepUntil === undefined ? put : { ...put, expireAt: keepUntil };
}

/** The scores of the sums that changed, and of the boards that show a metric which changed. */
export function updatesOf(
  { changedAt, revision, metrics }: UserState,
  targets: readonly ScoreTarget[],
  { totals, gained }: { readonly totals: readonly SumTotal[]; readonly gained: Gain["metrics"] },
): readonly ScoreUpdate[] {
  const updates: ScoreUpdate[] = totals.map(({ id, total }) => ({
    target: id,
    score: total,
    at: changedAt,
    asOf: revision,
  }));
  for (const target of targets) {
    if (target.kind !== "total" || !Object.hasOwn(gained, target.metricId)) continue;
    const score = own(metrics, target.metricId) ?? 0;
    updates.push({ target: target.id, score, at: changedAt, asOf: revision });
  }
  return updates;
}

/** The scores of a user, whose project has just become known, on the boards that show a metric. */
export function knownTotals(state: UserState, targets: readonly ScoreTarget[]): readonly ScoreUpdate[] {
  return updatesOf(state, targets, { totals: [], gained: state.metrics });
}
