/**
 * Merging a user into another: points, items, progress, coupons and scores go over, once.
 *
 * The users are in different partitions. First the one is closed, so that nothing changes it any more. Then the other receives what
 * the closed one has, and marks in the same commit that it did. At last the closed one is emptied. So a merge that was interrupted
 * at any step can be repeated.
 */

import { decide } from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import { type ChangedSum, sumKey, targetQueryOf } from "./board_sums.ts";
import type { Command } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { ownValue } from "./config/compiled.ts";
import { applyAdjustment, applyGrant } from "./engine/apply_change.ts";
import { pointsOutside } from "./ledger/movements.ts";
import { type CommandServices, runCommand } from "./run.ts";
import type { LoyaltyServices } from "./services.ts";
import type { GrantedReward, HistoryEntry, Inheritance } from "./user/history.ts";
import { readWholeHistory } from "./user/read_history.ts";
import { emptyState, type SpaceUser, spaceUserPartition, type UserState } from "./user/state.ts";
import { type MovedVotes, readMovedVotes, readVotesBeside, receiveVotes } from "./votes/votes.ts";

/**
 * Merges a user into another of the same project, once. Commands about the merged user act on the account from then on. It may be
 * repeated after an interruption.
 */
export async function mergeUsers(
  services: CommandServices,
  dueWork: (user: SpaceUser) => Promise<unknown>,
  from: SpaceUser,
  into: SpaceUser,
): Promise<void> {
  const { dueUsers } = services;
  await dueUsers.register(from);
  if ((await closeUser(services, from, into.userId)) !== into.userId) return;
  let { state, sums } = await readClosed(services, from);
  if (state.redemptions.length > 0) {
    // A product that is paid for and not given yet goes over too.
    await dueWork(from);
    ({ state, sums } = await readClosed(services, from));
  }
  const votes = await readMovedVotes(services.store, spaceUserPartition(from), state);
  await runCommand(services, into, (config, now) => {
    const rewards = rewardsOf(config, state, now);
    const inheritance = inheritanceOf(from, state, rewards);
    return receiveCommand({ rewards, inheritance, sums, votes }, config, now);
  });
  await runCommand(services, from, (config, now) => emptyCommand(config, now));
  // Takes the user off boards and the index of users, as does the sweep, for what is under way to them now.
  await dueWork(from);
}

/** Closes a user for further commands. Returns the user that it was merged into, now or before. */
async function closeUser({ store, states }: LoyaltyServices, from: SpaceUser, into: string): Promise<string> {
  const partition = spaceUserPartition(from);
  return await decide(store, partition, {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      const state = stored === null ? emptyState(from.projectId) : states.valueOf(partition, stored);
      return state.mergedInto === null
        ? { writes: [states.put({ ...state, mergedInto: into, undelivered: [] })], answer: into }
        : { writes: [], answer: state.mergedInto };
    },
  });
}

/** Reads the state of a closed user, with its sums on boards. A state has only hashes of boards; the history tells which they are. */
async function readClosed(
  { store, states, boards, clock }: LoyaltyServices,
  from: SpaceUser,
): Promise<{ readonly state: UserState; readonly sums: readonly ChangedSum[] }> {
  const entries: HistoryEntry[] = [];
  const found = await readWholeHistory(store, spaceUserPartition(from), states, entry => entries.push(entry));
  const state = found ?? emptyState(from.projectId);
  const now = clock();
  const sums = new Map<string, ChangedSum>();
  for (const { at, action: { name: action, data } = { name: "", data: {} } } of entries) {
    const targets = await boards.targets(state.projectId, targetQueryOf({ action, data }, at));
    for (const target of targets) {
      if (target.kind !== "sum" || sums.has(target.id)) continue;
      const key = sumKey(target);
      const [total, keepUntil] = ownValue(state.sums, key) ?? [0];
      if (total === 0 || (keepUntil ?? now) < now) continue;
      sums.set(target.id, { id: target.id, key, total, keepUntil });
    }
  }
  return { state, sums: [...sums.values()] };
}

/** Lists what a user has as rewards: each lot of points with its dates, points outside lots, and items. */
function rewardsOf({ metrics }: CompiledConfig, state: UserState, now: number): readonly GrantedReward[] {
  const points = Object.entries(state.metrics).flatMap(([metricId, balance]) => {
    const lots = ownValue(state.lots, metricId) ?? [];
    const rewards = lots.map(
      ({ remaining, activatesAt, expiresAt }): GrantedReward => ({
        type: "metric",
        metricId,
        metricQuantity: remaining,
        availableAt: activatesAt || now,
        expiresAt: expiresAt ?? undefined,
      }),
    );
    const others = Math.round(pointsOutside(balance, lots) - (metrics.get(metricId)?.defaultValue ?? 0));
    if (others !== 0) rewards.push({ type: "metric", metricId, metricQuantity: others, availableAt: now });
    return rewards;
  });
  const items = Object.entries(state.inventory).flatMap(([inventorySetId, ids]) =>
    ids.map(inventoryItemId => ({ type: "inventory" as const, inventorySetId, inventoryItemId })),
  );
  return [...points, ...items];
}

function inheritanceOf(
  { userId }: SpaceUser,
  { milestones, challenges, coupons, lifetime }: UserState,
  rewards: readonly GrantedReward[],
): Inheritance {
  const others = Object.entries(lifetime).flatMap(([metricId, [earned, spent]]) => {
    const granted = rewards.reduce(
      (sum, reward) =>
        reward.type === "metric" && reward.metricId === metricId ? sum + reward.metricQuantity : sum,
      0,
    );
    return earned === granted && spent === 0 ? [] : [[metricId, [earned - granted, spent]] as const];
  });
  return { from: userId, milestones, challenges, coupons, lifetime: Object.fromEntries(others) };
}

interface Estate {
  readonly rewards: readonly GrantedReward[];
  readonly inheritance: Inheritance;
  readonly sums: readonly ChangedSum[];
  readonly votes: MovedVotes;
}

/** Makes the command that gives a user what a closed one has, once. */
function receiveCommand(
  { rewards, inheritance, sums, votes }: Estate,
  config: CompiledConfig,
  now: number,
): Command {
  const key = keyName("merged", inheritance.from);
  const { from, ...progress } = inheritance;
  const isEmpty =
    votes.size === 0 && [rewards, ...Object.values(progress)].every(part => Object.keys(part).length === 0);
  return {
    kind: "inheritance",
    isIdempotent: true,
    reads: [{ type: "record", key }, ...readVotesBeside(votes)],
    addedSums: sums,
    apply: (state, [stored, ...tallies], options) => {
      if (stored !== null || isEmpty) return null;
      const grant = {
        rewards,
        reason: "Merged from another user",
        metadata: { mergedFrom: from },
        at: now,
        inheritance,
      };
      const outcome = applyGrant(config, state, grant, options);
      const received = receiveVotes(state.votes, votes, tallies as readonly ReadonlyMap<string, number>[]);
      outcome.state.votes = received.kept;
      return { ...outcome, writes: [{ type: "put", key, value: "" }, ...received.writes] };
    },
  };
}

/** Makes the command that takes the points of a closed user, whom searches would find with them. */
function emptyCommand(config: CompiledConfig, now: number): Command {
  return {
    kind: "adjustment",
    isIdempotent: true,
    apply: state => {
      const changes = Object.keys(state.metrics).map(metricId => ({
        metricId,
        op: "set" as const,
        value: config.metrics.get(metricId)?.defaultValue ?? 0,
      }));
      return applyAdjustment(config, state, { changes, reason: "Merged into another user", at: now });
    },
  };
}
