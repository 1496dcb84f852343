/**
 * Gifts: the effects of a rule on the user whom the action's data name.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { CompiledEffect, CompiledGift } from "./compiled.ts";
import type { RuleEffect } from "./document.ts";
import { multiplied } from "./multipliers.ts";
import type { SingleReward } from "./rewards.ts";
import type { FindVariable, Scope } from "./scope.ts";

/** An effect of a rule on another user. */
export type GiftEffect = Extract<RuleEffect, { readonly user?: unknown }> & {
  readonly user: { readonly var: string };
};

/** Tests if an effect is one on another user. */
export function isGift(effect: RuleEffect): effect is GiftEffect {
  return "user" in effect && effect.user !== undefined;
}

/**
 * Compiles the variable that names the other user.
 *
 * @throws {AppError} `validation_failed` where there is no such text, or the effect would take from the user.
 */
export function compileRecipient(
  effect: GiftEffect,
  findVariable: FindVariable,
  pointer: string,
): CompiledGift["recipient"] {
  if (effect.type === "metric" && typeof effect.metricQuantity === "number" && effect.metricQuantity < 0) {
    throw invalid(`${pointer}/metricQuantity`, "Expected no effect that takes from another user");
  }
  const variable = findVariable(effect.user.var);
  if (variable === null || (variable.type !== "string" && variable.type !== "any")) {
    const detail = "Expected a property of the action that is a string, such as data.referrerId";
    throw invalid(`${pointer}/user/var`, detail);
  }
  return scope => {
    const value = variable.read(scope);
    return value === undefined || Array.isArray(value) ? null : String(value);
  };
}

/** Returns the rewards of gifts by the ids of their users. Amounts that would give nothing, or take, are left out. */
export function giftedRewards(
  gifts: readonly CompiledGift[],
  scope: Scope,
  factor: number,
): ReadonlyMap<string, readonly SingleReward[]> {
  const byUser = new Map<string, SingleReward[]>();
  for (const { recipient, effect } of gifts) {
    const userId = recipient(scope);
    const reward = userId === null ? null : rewardOf(effect, scope, factor);
    if (userId !== null && reward !== null) byUser.set(userId, [...(byUser.get(userId) ?? []), reward]);
  }
  return byUser;
}

function rewardOf(effect: CompiledEffect, scope: Scope, factor: number): SingleReward | null {
  switch (effect.type) {
    case "metric": {
      const metricQuantity = Math.trunc(multiplied(effect.amount(scope), factor));
      return metricQuantity <= 0 ? null : { type: "metric", metricId: effect.metricId, metricQuantity };
    }
    case "inventory": {
      const { type, inventorySetId, inventoryItemId } = effect;
      return { type, inventorySetId, inventoryItemId };
    }
    case "coupon":
      return { type: "coupon", couponId: effect.couponId };
    default:
      return null;
  }
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot use the effect as it is not well formed", {
    fields: [{ pointer, detail }],
  });
}
