/**
 * Corrections by back ends and operators: adjusted metrics and reversed transactions.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import {
  keyName,
  type LogEntry,
  type ReadLog,
  type ReadRecord,
  type Store,
  type Stored,
  type Write,
} from "../../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { applyAdjustment, applyReversal, type ReversedAction, reversedAction } from "../engine/mod.ts";
import { isReversible } from "../ledger/mod.ts";
import { type HistoryTransaction, type MetricChange, scoredData, transactionsOf } from "../user/history.ts";
import { findRecord, parseEntry } from "../user/read_history.ts";
import { reversalMarkReads, reversalMarksRead, reversalMarkWrites } from "../user/reversal_marks.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { requireUnmerged } from "../user/state.ts";
import type { Command } from "./command.ts";

/** Changes of a user's metrics. */
export interface AdjustmentOrder {
  readonly changes: readonly MetricChange[];
  /** For people; part of the transaction. */
  readonly reason: string;
  /** Names the adjustment in the history. */
  readonly id?: string | undefined;
  /** Records of the user's partition that change together with the metrics, or not at all. */
  readonly extra?: ExtraRecords | undefined;
}

/** Records that change together with metrics. */
export interface ExtraRecords {
  readonly reads: readonly ReadRecord[];
  /** Tells that the adjustment took effect before. Omitted: the records do not tell, so that a repetition takes effect again. */
  readonly wasApplied?: ((stored: readonly (Stored | null)[]) => boolean) | undefined;
  /** Makes the writes. Throws to refuse the whole change. */
  readonly writes: (stored: readonly (Stored | null)[]) => readonly Write[];
}

/** Most records from the time of an adjustment among which it is found. */
const adjustmentScanMax = 100;

/**
 * Makes the command of an adjustment.
 *
 * @throws {AppError} `validation_failed` where the configuration does not name a metric.
 */
export function adjustmentCommand(
  config: CompiledConfig,
  { changes, reason, id, extra }: AdjustmentOrder,
  now: number,
): Command {
  requireMetrics(config, changes);
  const { reads = [], wasApplied, writes } = extra ?? {};
  const isRepeated = (results: readonly unknown[]): boolean =>
    wasApplied?.(results as StoredRecords) === true;
  return {
    isIdempotent: wasApplied !== undefined,
    extraReads: reads,
    extraWrites: results => (isRepeated(results) ? [] : (writes?.(results as StoredRecords) ?? [])),
    decide: (state, results, { isReached, profile }) => {
      if (isRepeated(results)) return null;
      requireUnmerged(state);
      const adjustment = { changes, reason, id, at: now };
      return applyAdjustment(config, state, adjustment, { globalLimitReached: isReached, profile });
    },
  };
}

type StoredRecords = readonly (Stored | null)[];

/** Finds the transaction of an adjustment by its id, among the first records from a time (Unix ms) on; null if it has none there. */
export async function findAdjustment(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  { id, from }: { readonly id: string; readonly from: number },
): Promise<string | null> {
  const range = { from, recordsMax: adjustmentScanMax };
  return (await findRecord(store, user, range, ({ adjustment }) => adjustment?.id === id))?.id ?? null;
}

/**
 * Finds the action of a transaction with an entry, before anything is written of a user who may not exist; undefined where no action
 * caused it.
 *
 * @throws {AppError} `not_found`: the user has none of this id, or not any more.
 */
export async function findReversedAction(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  { transactionId, index }: { readonly transactionId: string; readonly index: number },
): Promise<ReversedAction | undefined> {
  const [entries] = await store.read(spaceUserPartition(user), [readRecordOf(transactionId)]);
  const transaction = findTransaction(entries, transactionId);
  if (index > 0 && index >= transaction.entries.length) throw unknownTransaction();
  return actionOf(entries, transactionId, new Map());
}

/**
 * Makes the command that reverses a transaction, once. Boards give back what they counted for its action.
 *
 * Its decision throws `not_found` where the user has no such transaction, or not any more, and `conflict` where it was reversed
 * before or cannot be.
 */
export function reversalCommand(
  config: CompiledConfig,
  { transactionId, of }: { readonly transactionId: string; readonly of: ReversedAction | undefined },
  now: number,
): Command {
  const [recordAt] = recordNumbersOf(transactionId);
  const counted =
    of === undefined
      ? {}
      : { at: of.at, scoring: { action: "", data: scoredData(of.action) }, changesKnownSums: true };
  return {
    ...counted,
    extraReads: [readRecordOf(transactionId), ...reversalMarkReads, reversalMarksRead(recordAt)],
    extraWrites: ([_, stored, history]) =>
      reversalMarkWrites({ id: transactionId, recordAt }, [
        stored as Stored | null,
        history as readonly LogEntry[],
      ]),
    decide: (state, [entries, _, __, marks]) => {
      const transaction = findTransaction(entries as readonly LogEntry[], transactionId);
      requireReversible(transaction);
      if ((marks as ReadonlyMap<string, number>).has(transactionId)) throw reversedBefore();
      requireUnmerged(state);
      const action = actionOf(
        entries as readonly LogEntry[],
        transactionId,
        marks as ReadonlyMap<string, number>,
      );
      return applyReversal(config, state, { transaction, action, at: now });
    },
    refused: () => {
      throw reversedBefore();
    },
  };
}

/** Creates the error for a transaction that was taken back before. */
export function reversedBefore(): AppError {
  return new AppError("conflict", "Cannot take the transaction back as that was done already");
}

/**
 * Makes the adjustment of an account that takes back, once, the points of a transaction of a user who was merged into it. Lots, counts
 * and items of the two users have nothing in common, so points alone go back.
 */
export async function mergedReversal(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  transactionId: string,
): Promise<(config: CompiledConfig) => AdjustmentOrder> {
  const [entries] = await store.read(spaceUserPartition(user), [readRecordOf(transactionId)]);
  const transaction = findTransaction(entries, transactionId);
  const key = keyName("reversal", user.userId, transactionId);
  return ({ metrics }) => ({
    changes: transaction.entries
      .filter(entry => isReversible(entry) && metrics.has(entry.metricId))
      .map(({ metricId, type, amount }) => ({
        ...{ metricId, op: "incr" as const },
        value: type === "credit" ? -amount : amount,
      })),
    reason: `Reversal of ${transactionId} of the merged user ${user.userId}`,
    extra: {
      reads: [{ type: "record", key }],
      wasApplied: ([stored]) => stored !== null,
      writes: () => [{ type: "put", key, value: "" }],
    },
  });
}

function requireMetrics({ metrics }: CompiledConfig, changes: readonly MetricChange[]): void {
  const fields = changes
    .filter(({ metricId }) => !metrics.has(metricId))
    .map(({ metricId }) => ({ pointer: `/metrics/${metricId}`, detail: "Is not a metric of the space" }));
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot change metrics that the space does not have", { fields });
}

/** Returns the time (Unix ms) of the record that a transaction's id names, and its number among those of that time, from 1 on. */
function recordNumbersOf(transactionId: string): readonly [at: number, number: number] {
  const [, at = "", number = ""] = /^(\d{1,15})-([1-9]\d{0,14})(?:\.\d+)?$/.exec(transactionId) ?? [];
  if (at === "") throw unknownTransaction();
  return [Number(at), Number(number)];
}

/** Reads the record of a transaction: the next one after the number before. */
function readRecordOf(transactionId: string): ReadLog {
  const [at, number] = recordNumbersOf(transactionId);
  return { type: "log", key: "history", from: at, to: at, cursor: `${at}-${number - 1}`, limit: 1 };
}

function findTransaction(entries: readonly LogEntry[], transactionId: string): HistoryTransaction {
  const transaction = entries
    .flatMap(entry => transactionsOf(parseEntry(entry)))
    .find(({ id }) => id === transactionId);
  if (transaction === undefined) throw unknownTransaction();
  return transaction;
}

/** Returns the action of a transaction. Its counts are taken back with the first of its transactions. */
function actionOf(
  entries: readonly LogEntry[],
  transactionId: string,
  marks: ReadonlyMap<string, number>,
): ReversedAction | undefined {
  const [recordId] = transactionId.split(".");
  const entry = entries.find(({ id }) => id === recordId);
  if (entry === undefined) return undefined;
  const record = parseEntry(entry);
  const ids = transactionsOf(record).map(({ id }) => id);
  return reversedAction(record, ids.indexOf(transactionId), !ids.some(id => marks.has(id)));
}

/** Tests if a transaction gave or took something that a reversal takes back. */
export function isTakenBack({ type, entries, payload }: HistoryTransaction): boolean {
  const { received, lost } = payload.inventoryChanges;
  if (payload.redemptionId !== undefined || type === "reversed") return false;
  return entries.some(isReversible) || received.length > 0 || lost.length > 0;
}

function requireReversible(transaction: HistoryTransaction): void {
  if (isTakenBack(transaction)) return;
  const { type, payload } = transaction;
  if (payload.redemptionId !== undefined) {
    throw new AppError("conflict", "Cannot take the transaction back by itself: refund its redemption");
  }
  if (type === "reversed") {
    throw new AppError(
      "conflict",
      "Cannot take a reversal back: give or take what the user is to have instead",
    );
  }
  throw new AppError(
    "conflict",
    "Cannot take the transaction back as it is not one that gave or took anything",
  );
}

function unknownTransaction(): AppError {
  return new AppError("not_found", "Cannot take the transaction back as the user has none of this id");
}
