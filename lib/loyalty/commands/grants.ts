/**
 * What back ends give users and take back.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";
import type { LogEntry, ReadLog, Store, Stored } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, MetricReward, NotificationSetting } from "../config/document.ts";
import { rewardCountError } from "../config/semantic_errors.ts";
import { activationTime } from "../engine/metric_changes.ts";
import { applyGrant, applyReversal } from "../engine/mod.ts";
import { isReversible } from "../ledger/mod.ts";
import {
  type GrantedReward,
  type HistoryTransaction,
  type PointDates,
  pointDateErrors,
  transactionsOf,
} from "../user/history.ts";
import { type Member, memberPartition } from "../user/member.ts";
import { parseEntry } from "../user/read_history.ts";
import { reversalMarkReads, reversalMarkWrites } from "../user/reversal_marks.ts";
import type { Command } from "./command.ts";

/** What a back end gives a user. */
export interface GrantOrder {
  readonly rewards: readonly GrantedReward[];
  /** For people; part of the transaction. */
  readonly reason: string;
  /** What the back end notes beside it; part of the transaction. */
  readonly metadata?: ActionData | undefined;
  /** How the user is told of it. @default not at all */
  readonly notification?: NotificationSetting | undefined;
  /** Orders of one user with the same id within `onceGenerationMs` take effect once. */
  readonly id?: string;
}

/** What is wrong with a reward, and in which part of it. */
interface PartFault {
  /** A JSON Pointer below the reward. */
  readonly place: string;
  readonly detail: string;
}

/** Most log entries of one millisecond among which a transaction is found. */
const sameInstantMax = 1_000;
const boards = { action: "", data: {} };

/**
 * Checks that a configuration names all that is given, that its dates can be kept, and that it is not too much at once.
 *
 * @param now Unix ms.
 * @throws {AppError} `validation_failed` with the pointer of each reward that it does not name or whose points would not count
 *   before they expire, or of all of them.
 */
export function requireRewards(config: CompiledConfig, rewards: readonly GrantedReward[], now: number): void {
  const fields = rewards.flatMap((reward, index): FieldError[] => {
    const faults = rewardFaults(config, reward, now);
    return faults.map(({ place, detail }) => ({ pointer: `/rewards/${index}${place}`, detail }));
  });
  if (fields.length > 0) {
    throw new AppError(
      "validation_failed",
      "Cannot give rewards that the space does not have, or with such dates",
      { fields },
    );
  }
  const detail = rewardCountError(rewards, config.bundles);
  if (detail === null) return;
  throw new AppError("validation_failed", "Cannot give so many rewards at once", {
    fields: [{ pointer: "/rewards", detail }],
  });
}

function rewardFaults(config: CompiledConfig, reward: GrantedReward, now: number): readonly PartFault[] {
  if (!isKnown(config, reward)) {
    return [{ place: "", detail: "Expected what the configuration of the space has" }];
  }
  return reward.type === "metric" ? pointsFaults(config, reward, now) : [];
}

function pointsFaults(
  { metrics, config: { timeZone } }: CompiledConfig,
  { metricId, availableAt, expiresAt }: MetricReward & PointDates,
  now: number,
): readonly PartFault[] {
  if (availableAt === undefined && expiresAt === undefined) return [];
  const policy = metrics.get(metricId)?.lots;
  if (policy === undefined) {
    return [{ place: "", detail: "Expected no dates, as the configuration keeps no lots of this metric" }];
  }
  const faults = pointDateErrors({ availableAt, expiresAt }, now);
  if (faults.length > 0) return faults.map(({ member, detail }) => ({ place: `/${member}`, detail }));
  if (expiresAt === undefined || expiresAt > activationTime({ policy, availableAt }, { at: now, timeZone }))
    return [];
  return [
    { place: "/expiresAt", detail: "Expected a time later than the metric's policy lets points count" },
  ];
}

/** The happening that a grant is. */
export function grantCommand(config: CompiledConfig, order: GrantOrder, now: number): Command {
  const { id } = order;
  return {
    ...(id === undefined ? {} : { once: { of: "grant", id } }),
    scoring: boards,
    decide: (settled, _, { isReached: globalLimitReached }) =>
      applyGrant(config, settled, { ...order, at: now }, { globalLimitReached }),
  };
}

/**
 * Asks whether a user has a transaction, before anything is written of somebody who may not exist.
 *
 * @throws {AppError} `not_found`: the user has none of this id, or not any more.
 */
export async function requireTransaction(
  store: Store,
  {
    member,
    transactionId,
  }: { readonly member: Pick<Member, "organisationId" | "userId">; readonly transactionId: string },
): Promise<void> {
  const [entries] = await store.read(memberPartition(member), [instantOf(instantNamed(transactionId))]);
  transactionIn(entries, transactionId);
}

/**
 * The happening that a reversal is: exactly one for each transaction.
 *
 * Its decision throws `not_found` where the user has no such transaction, or not any more, and `conflict` where it was taken
 * back already or cannot be.
 */
export function reversalCommand(config: CompiledConfig, transactionId: string, now: number): Command {
  const recordAt = instantNamed(transactionId);
  return {
    scoring: boards,
    reads: [instantOf(recordAt), ...reversalMarkReads],
    writes: ([_, stored, history]) =>
      reversalMarkWrites({ id: transactionId, recordAt }, [
        stored as Stored | null,
        history as readonly LogEntry[],
      ]),
    decide: (settled, [entries]) => {
      const transaction = transactionIn(entries as readonly LogEntry[], transactionId);
      requireReversible(transaction);
      return applyReversal(config, settled, { transaction, at: now });
    },
    refused: () => {
      throw new AppError("conflict", "Cannot take the transaction back as that was done already");
    },
  };
}

/** The instant, Unix ms, of the record that the id of a transaction names. */
function instantNamed(transactionId: string): number {
  const recordAt = Number(/^(\d{1,15})-\d+(\.\d+)?$/.exec(transactionId)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(recordAt)) throw unknown();
  return recordAt;
}

function instantOf(recordAt: number): ReadLog {
  return { type: "log", key: "history", from: recordAt, to: recordAt, limit: sameInstantMax };
}

function transactionIn(entries: readonly LogEntry[], transactionId: string): HistoryTransaction {
  const transaction = entries
    .flatMap(entry => transactionsOf(parseEntry(entry)))
    .find(({ id }) => id === transactionId);
  if (transaction === undefined) throw unknown();
  return transaction;
}

function isKnown({ metrics, coupons, bundles, config }: CompiledConfig, reward: GrantedReward): boolean {
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

function requireReversible({ type, entries, payload }: HistoryTransaction): void {
  const { received, lost } = payload.inventoryChanges;
  if (payload.redemptionId !== undefined) {
    throw new AppError("conflict", "Cannot take the transaction back by itself: refund its redemption");
  }
  if (type === "reversed") {
    throw new AppError(
      "conflict",
      "Cannot take a reversal back: give or take what the user is to have instead",
    );
  }
  const isChange = entries.some(isReversible) || received.length > 0 || lost.length > 0;
  if (isChange) return;
  throw new AppError(
    "conflict",
    "Cannot take the transaction back as it is not one that gave or took anything",
  );
}

function unknown(): AppError {
  return new AppError("not_found", "Cannot take the transaction back as the user has none of this id");
}
