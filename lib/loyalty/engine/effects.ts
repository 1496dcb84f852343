/**
 * Effects of a rule. Points and items are one transaction. The coupons, notifications and challenges after it have transactions
 * of their own.
 *
 * @module
 */

import type { CompiledEffect, CompiledRule } from "../config/compiled.ts";
import { completeChallenge, completeMission, failChallenge, startChallenge } from "./challenges.ts";
import type { StateDraft } from "./draft.ts";
import { giveMetric } from "./metric_changes.ts";
import { giveCoupon } from "./rewards.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

/** A rule that fires, with the amounts of its metric effects by their indexes. */
export interface FiringRule {
  readonly compiled: CompiledRule;
  readonly amounts: readonly number[];
}

/** Applies a rule. */
export function applyRule(draft: StateDraft, { compiled, amounts }: FiringRule): void {
  const { rule, effects, limits } = compiled;
  for (const { key, window } of limits) draft.count(key, window, 1);
  draft.fired.push(rule.id);
  const transaction = new TransactionBuilder();
  let index = 0;
  for (const effect of effects) {
    const quantity = amounts[index++] ?? 0;
    if (effect.type === "metric") giveMetric(draft, effect.metricId, { quantity, transaction });
    else if (effect.type === "inventory") {
      draft.receiveItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    } else if (effect.type === "inventoryLoss") {
      draft.loseItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    }
  }
  draft.record(transaction.build("actionRewarded"));
  for (const effect of effects) if (draft.hasRoom()) applySeparateEffect(draft, effect);
}

/** Applies an effect that has a transaction of its own. */
function applySeparateEffect(draft: StateDraft, effect: CompiledEffect): void {
  switch (effect.type) {
    case "coupon":
      giveCoupon(draft, effect.couponId);
      break;
    case "notification":
      draft.notify({
        type: "custom",
        ...effect.notification,
        payload: new TransactionBuilder().build("actionRewarded").payload,
      });
      break;
    case "challengeStart":
    case "missionCompletion":
    case "challengeCompletion":
    case "challengeFailure":
      applyToChallenge(draft, effect);
  }
}

function applyToChallenge(
  draft: StateDraft,
  effect: Extract<CompiledEffect, { readonly challengeId: string }>,
): void {
  const of = draft.compiled.challenges.get(effect.challengeId);
  if (of === undefined) return;
  if (effect.type === "challengeStart") startChallenge(draft, of);
  if (effect.type === "challengeCompletion") completeChallenge(draft, of);
  if (effect.type === "challengeFailure") failChallenge(draft, of);
  if (effect.type !== "missionCompletion") return;
  const mission = of.challenge.missions.find(({ id }) => id === effect.missionId);
  if (mission !== undefined) completeMission(draft, of, { mission });
}
