/**
 * Gives rewards to many users: those of one user in their order, users side by side.
 *
 * @module
 */

import { mapConcurrent } from "../../background/mod.ts";
import { inGroups } from "../batch/groups.ts";
import { type ItemResult, itemError } from "../batch/results.ts";
import type { AudienceMember } from "../member.ts";
import type { ActionData } from "../worker/queued_action.ts";
import type { PlainReward, RewardNotification, RewardOrder } from "./check_rewards.ts";

/** Number of users of one request who are given something at a time. */
export const grantLanes = 32;

/** Gives rewards. */
export interface RewardGiver {
  /** Gives rewards under an id, once. Answers the transaction; null where that was done before. */
  grant(
    member: AudienceMember,
    order: {
      readonly rewards: readonly PlainReward[];
      readonly reason: string;
      readonly id: string;
      readonly metadata?: ActionData | undefined;
      readonly notification?: RewardNotification | undefined;
    },
  ): Promise<GivenTransaction | null>;
}

/** What was given. */
export interface GivenTransaction {
  readonly id: string;
  readonly payload: {
    readonly metricChanges: Readonly<Record<string, { readonly newValue: number }>>;
  };
}

/** The result of one reward. */
export interface RewardResult extends ItemResult {
  /** Where something was given. */
  readonly transactionId?: string;
  /** What the user then has of the metric, where it changed. */
  readonly balanceAfter?: number;
}

/** A reward with the id under which it is given once. */
export interface NamedOrder extends RewardOrder {
  readonly rewardId: string;
}

/** Gives every reward, and answers what became of each in the order given. */
export async function grantAll(
  giver: RewardGiver,
  tenant: { readonly organisationId: string; readonly spaceId: string },
  orders: readonly NamedOrder[],
): Promise<readonly RewardResult[]> {
  const results: RewardResult[] = [];
  const users = inGroups([...orders.entries()], ([, { userId }]) => userId);
  await mapConcurrent(users, grantLanes, async user => {
    for (const [index, order] of user) results[index] = await given(giver, { ...tenant, ...order, index });
  });
  return results;
}

async function given(
  giver: RewardGiver,
  order: NamedOrder & { readonly organisationId: string; readonly spaceId: string; readonly index: number },
): Promise<RewardResult> {
  const { organisationId, spaceId, userId, rewardId, reward, reason, metadata, notification, index } = order;
  const result = { index, id: rewardId, userId };
  try {
    const member = { organisationId, spaceId, userId, projectId: null };
    const transaction = await giver.grant(member, {
      rewards: [reward],
      reason,
      id: rewardId,
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      ...(notification === null ? {} : { notification }),
    });
    if (transaction === null) return { ...result, status: "duplicate" };
    const { id: transactionId, payload } = transaction;
    const change = reward.type === "metric" ? payload.metricChanges[reward.metricId] : undefined;
    return {
      ...result,
      status: "succeeded",
      transactionId,
      ...(change === undefined ? {} : { balanceAfter: change.newValue }),
    };
  } catch (error) {
    return { ...result, status: "failed", error: itemError(error) };
  }
}
