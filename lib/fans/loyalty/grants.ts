/** Grants: rewards that back ends give to users. */

import { AppError, type FieldError } from "../../base/errors/mod.ts";
import type { Command } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import type { ActionData, MetricReward, NotificationSetting } from "./config/document.ts";
import { rewardCountError } from "./config/semantic_errors.ts";
import { applyGrant } from "./engine/apply_change.ts";
import { activationTime } from "./engine/rewards.ts";
import { type GrantedReward, type PointDates, pointDateErrors } from "./user/history.ts";
import { requireUnmerged } from "./user/state.ts";

export interface GrantOrder {
  readonly rewards: readonly GrantedReward[];
  /** For people; part of the transaction. */
  readonly reason: string;
  /** Caller-supplied metadata; part of the transaction. */
  readonly metadata?: ActionData | undefined;
  /** The notification that the user gets. @default none */
  readonly notification?: NotificationSetting | undefined;
  /** The user's project as a back end names it; a user of another one refuses the grant. @default unnamed */
  readonly projectId?: string | undefined;
  /** Grants of one user with the same id take effect once; ids are remembered for 7 to 14 days. */
  readonly id?: string;
}

/**
 * Checks that the configuration names all rewards, that their dates can be kept, and that they are not too many.
 *
 * @param now Unix ms.
 * @throws {AppError} `validation_failed` with a pointer to each reward at fault.
 */
export function requireRewards(config: CompiledConfig, rewards: readonly GrantedReward[], now: number): void {
  const fields = rewards.flatMap((reward, index): FieldError[] => {
    const errors = rewardErrors(config, reward, now);
    return errors.map(({ pointer, detail }) => ({ pointer: `/rewards/${index}${pointer}`, detail }));
  });
  if (fields.length > 0) {
    const message = "Cannot give rewards that the space does not have, or with such dates";
    throw new AppError("validation_failed", message, { fields });
  }
  const detail = rewardCountError(rewards, config.bundles);
  if (detail === null) return;
  throw new AppError("validation_failed", "Cannot give so many rewards at once", {
    fields: [{ pointer: "/rewards", detail }],
  });
}

export function grantCommand(config: CompiledConfig, order: GrantOrder, now: number): Command {
  const { projectId, id } = order;
  return {
    kind: "grant",
    projectId,
    once: id === undefined ? undefined : { of: "grant", id },
    apply: (state, _, options) => {
      requireUnmerged(state);
      return applyGrant(config, state, { ...order, at: now }, options);
    },
  };
}

function rewardErrors(config: CompiledConfig, reward: GrantedReward, now: number): readonly FieldError[] {
  if (!isConfigured(config, reward)) {
    return [{ pointer: "", detail: "Expected what the configuration of the space has" }];
  }
  return reward.type === "metric" ? dateErrors(config, reward, now) : [];
}

function dateErrors(
  { metrics, config: { timeZone } }: CompiledConfig,
  { metricId, availableAt, expiresAt }: MetricReward & PointDates,
  now: number,
): readonly FieldError[] {
  if (availableAt === undefined && expiresAt === undefined) return [];
  const policy = metrics.get(metricId)?.lots;
  if (policy === undefined) {
    return [{ pointer: "", detail: "Expected no dates, as the configuration keeps no lots of this metric" }];
  }
  const errors = pointDateErrors({ availableAt, expiresAt }, now);
  if (errors.length > 0) return errors.map(({ member, detail }) => ({ pointer: `/${member}`, detail }));
  if (expiresAt === undefined || expiresAt > activationTime({ policy, availableAt }, { at: now, timeZone })) {
    return [];
  }
  const detail = "Expected a time later than the metric's policy lets points count";
  return [{ pointer: "/expiresAt", detail }];
}

function isConfigured({ metrics, coupons, bundles, config }: CompiledConfig, reward: GrantedReward): boolean {
  switch (reward.type) {
    case "metric":
      return metrics.has(reward.metricId);
    case "coupon":
      return coupons.has(reward.couponId);
    case "reward":
      return bundles.has(reward.rewardId);
    case "inventory":
      return config.inventory.some(
        ({ id, items }) =>
          id === reward.inventorySetId && items.some(item => item.id === reward.inventoryItemId),
      );
  }
}
