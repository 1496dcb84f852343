/**
 * What the effects of a rule do. What a rule gives and takes is one transaction; the coupons, announcements and challenges
 * that follow from it come after that, each with a transaction of its own.
 *
 * @module
 */

import type { CompiledEffect } from "../config/compiled.ts";
import { completeChallenge, completeMission, failChallenge, startChallenge } from "./challenges.ts";
import { TransactionBuilder } from "./change.ts";
import type { StateDraft } from "./draft.ts";
import { giveCoupon, giveMetric } from "./give.ts";

/** Gives and takes. */
export function applyNow(
  draft: StateDraft,
  effect: CompiledEffect,
  { amount, change }: { readonly amount: number; readonly change: TransactionBuilder },
): void {
  if (effect.type === "metric") giveMetric(draft, effect.metricId, { quantity: amount, change });
  if (effect.type === "inventory") draft.receive(effect.inventorySetId, effect.inventoryItemId, change);
  if (effect.type === "inventoryLoss") draft.lose(effect.inventorySetId, effect.inventoryItemId, change);
}

/** Does what has a transaction of its own. */
export function applyLater(draft: StateDraft, effect: CompiledEffect): void {
  switch (effect.type) {
    case "coupon":
      giveCoupon(draft, effect.couponId);
      break;
    case "notification":
      draft.notify({
        type: "custom",
        ...effect.notification,
        payload: new TransactionBuilder().transaction("actionRewarded").payload,
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
