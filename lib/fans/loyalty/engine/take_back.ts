/**
 * Taking back what an action has counted, with the reversal of one of its transactions.
 *
 * @module
 */

import type { CompiledRule } from "../config/compiled.ts";
import type { Scope } from "../config/scope.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { HistoryRecord } from "../user/history.ts";
import { missionKey, takeBackProgress } from "./challenges.ts";
import type { StateDraft } from "./draft.ts";

/** The action that a reversed transaction belongs to. */
export interface ReversedAction {
  readonly action: NonNullable<HistoryRecord["action"]>;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** The rule that made the transaction; null: none, or one without limits and caps. */
  readonly ruleId: string | null;
  /** False where another transaction of the action was reversed before. */
  readonly isFirst: boolean;
}

/** Returns the action of a transaction by its index in the record; undefined where no action caused it. */
export function reversedAction(
  { action, at, transactions }: HistoryRecord,
  index: number,
  isFirst: boolean,
): ReversedAction | undefined {
  if (action === undefined) return undefined;
  const isRewarded = ({ type }: { readonly type: string }): boolean => type === "actionRewarded";
  const [transaction, before] = [transactions[index], transactions.slice(0, index)];
  const isOfRule = transaction !== undefined && isRewarded(transaction);
  const ruleId = isOfRule ? action.fired?.[before.filter(isRewarded).length] : undefined;
  return { action, at: action.at ?? at, ruleId: ruleId ?? null, isFirst };
}

/**
 * Takes back the use of the limits of the transaction's rule, and with the first transaction what the action has counted: counts,
 * sums, distinct values, and the progress of missions whose run is open. Streaks stay.
 */
export function takeBackCounts(draft: StateDraft, { action, at, ruleId, isFirst }: ReversedAction): void {
  const scope: Scope = { data: action.data, user: draft, element: action.element };
  for (const { key, window, by } of findRule(draft, ruleId)?.limits ?? []) {
    const value = by?.(scope);
    if (value !== null) draft.uncount(key, window, { amount: 1, at, value });
  }
  const plan = draft.compiled.actions.get(action.name);
  if (!isFirst || plan === undefined) return;
  for (const { key, window, when, amount, by } of action.isReveal === true ? [] : plan.aggregates) {
    const value = by?.(scope);
    if (value !== null && when(scope)) draft.uncount(key, window, { amount: amount(scope), at, value });
  }
  for (const [key, run, amount] of action.advanced ?? []) {
    const compiled = plan.missions.find(({ of, mission }) => missionKey(of.challenge, mission) === key);
    if (compiled === undefined) continue;
    const value = compiled.by?.(scope) ?? undefined;
    takeBackProgress(draft, compiled.of, { ...compiled, run, amount, needed: compiled.count, value });
  }
}

/** Gives back to the caps of the transaction's rule what was taken of a metric. Points that could not be taken stay counted. */
export function takeBackCaps(
  draft: StateDraft,
  { at, ruleId }: ReversedAction,
  { metricId, amount }: Pick<LedgerEntry, "metricId" | "amount">,
): void {
  const effect = findRule(draft, ruleId)?.effects.find(
    one => one.type === "metric" && one.metricId === metricId,
  );
  if (effect?.type !== "metric") return;
  for (const { key, window } of effect.caps) draft.uncount(key, window, { amount, at });
}

function findRule({ compiled }: StateDraft, ruleId: string | null): CompiledRule | undefined {
  for (const { rules } of compiled.triggers.values()) {
    const found = rules.find(({ rule: { id } }) => id === ruleId);
    if (found !== undefined) return found;
  }
  return undefined;
}
