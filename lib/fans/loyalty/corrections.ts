/** Corrections by back ends and operators: adjusted metrics and reversed transactions. */

import { AppError } from "../../base/errors/mod.ts";
import type { LogEntry, ReadLog, ReadRecord, Store, Stored, Write } from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { Command, Committed } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import {
  applyAdjustment,
  applyReversal,
  type ReversedAction,
  reversedAction,
} from "./engine/apply_change.ts";
import { type GrantOrder, grantCommand, requireRewards } from "./grants.ts";
import { isReversible } from "./ledger/movements.ts";
import { type CommandServices, runCommand } from "./run.ts";
import {
  type HistoryTransaction,
  type MetricChange,
  parseEntryId,
  scoredData,
  type TransactionView,
  transactionsOf,
  transactionView,
} from "./user/history.ts";
import { findRecord, parseEntry } from "./user/read_history.ts";
import {
  MergedUserError,
  onAccount,
  requireUnmerged,
  type SpaceUser,
  spaceUserPartition,
} from "./user/state.ts";
import { reversalMarkReads, reversalMarksRead, reversalMarkWrites } from "./user/stored_state.ts";

interface AdjustmentOrder {
  readonly changes: readonly MetricChange[];
  /** For people; part of the transaction. */
  readonly reason: string;
  readonly id?: string | undefined;
  /** Records of the user's partition that change together with the metrics, or not at all. */
  readonly extra?: ExtraRecords | undefined;
}

interface ExtraRecords {
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
    kind: "adjustment",
    isIdempotent: wasApplied !== undefined,
    reads,
    writes: results => (isRepeated(results) ? [] : (writes?.(results as StoredRecords) ?? [])),
    apply: (state, results, options) => {
      if (isRepeated(results)) return null;
      requireUnmerged(state);
      const adjustment = { changes, reason, id, at: now };
      return applyAdjustment(config, state, adjustment, options);
    },
  };
}

type StoredRecords = readonly (Stored | null)[];

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
    kind: "reversal",
    ...counted,
    reads: [readRecordOf(transactionId), ...reversalMarkReads, reversalMarksRead(recordAt)],
    writes: ([_, stored, history]) =>
      reversalMarkWrites({ id: transactionId, recordAt }, [
        stored as Stored | null,
        history as readonly LogEntry[],
      ]),
    apply: (state, [entries, _, __, marks]) => {
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

function reversedBefore(): AppError {
  return new AppError("conflict", "Cannot take the transaction back as that was done already");
}

/**
 * Makes the adjustment of an account that takes back, once, the points of a transaction of a user who was merged into it. Lots, counts
 * and items of the two users have nothing in common, so points alone go back.
 */
async function mergedReversal(
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
        metricId,
        op: "incr" as const,
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

export type UserCommands = ReturnType<typeof createUserCommands>;

export function createUserCommands(services: CommandServices) {
  const { store } = services;
  return {
    /**
     * Gives rewards; null where a grant with the same id took effect before.
     *
     * @throws {AppError} `validation_failed` where the configuration does not name one of them.
     */
    async grant(user: SpaceUser, order: GrantOrder): Promise<TransactionView | null> {
      const decision = await onAccount(user, of =>
        runCommand(services, of, (config, now) => {
          requireRewards(config, order.rewards, now);
          return grantCommand(config, order, now);
        }),
      );
      return firstTransaction(decision);
    },
    /**
     * Adjusts metrics, within their bounds, and returns the id of the transaction; null where nothing changed, now or because the
     * adjustment took effect before.
     *
     * @throws {AppError} `validation_failed` where the configuration does not name one of them.
     */
    async adjust(user: SpaceUser, order: AdjustmentOrder): Promise<string | null> {
      const decision = await onAccount(user, of =>
        runCommand(services, of, (config, now) => adjustmentCommand(config, order, now)),
      );
      return decision.result === null ? null : decision.recordId;
    },
    /** Finds the transaction of an adjustment with an id, recorded at a time (Unix ms) or soon after; null: it has none there. */
    async findAdjustment(
      user: SpaceUser,
      { id, from }: { readonly id: string; readonly from: number },
    ): Promise<string | null> {
      const range = { from, recordsMax: adjustmentScanMax };
      return (await findRecord(store, user, range, ({ adjustment }) => adjustment?.id === id))?.id ?? null;
    },
    /**
     * Takes back what a transaction gave and took, by its own id or that of an entry of it. Of a user who was merged, the account
     * gives and gets the points.
     *
     * @throws {AppError} `not_found`, or `conflict` where that was done already or the transaction changed nothing.
     */
    reverse: (user: SpaceUser, id: string): Promise<TransactionView> => reverse(services, user, id),
  };
}

export async function reverse(
  services: CommandServices,
  user: SpaceUser,
  id: string,
): Promise<TransactionView> {
  const { store } = services;
  const { transactionId, index } = parseEntryId(id);
  const of = await findReversedAction(store, user, { transactionId, index });
  let decision: Committed;
  try {
    decision = await runCommand(services, user, (config, now) =>
      reversalCommand(config, { transactionId, of }, now),
    );
  } catch (error) {
    if (!(error instanceof MergedUserError)) throw error;
    const order = await mergedReversal(store, user, transactionId);
    const account = { ...user, userId: error.account };
    decision = await onAccount(
      account,
      one => runCommand(services, one, (config, now) => adjustmentCommand(config, order(config), now)),
      { isBackEnd: true },
    );
  }
  const transaction = firstTransaction(decision);
  if (transaction === null) throw reversedBefore();
  if (of !== undefined) await giveBackUse(services, user, of);
  return transaction;
}

/** Gives back the use of a limit for all users. One that cannot be given back now stays counted until its window ends. */
async function giveBackUse(
  { configOf, limits, logger }: CommandServices,
  { organisationId, spaceId, userId }: SpaceUser,
  { action: { id }, at, ruleId }: ReversedAction,
): Promise<void> {
  if (id === undefined || ruleId === null) return;
  try {
    const { limitedRules, config } = await configOf(spaceId);
    if (!limitedRules.has(ruleId)) return;
    const claimant = {
      organisationId,
      spaceId,
      userId,
      actionId: `action:${id}`,
      timeZone: config.timeZone,
      weekStartsOn: config.weekStartsOn,
      at,
    };
    await limits.giveBack(claimant, ruleId);
  } catch (error) {
    logger.log("warn", "rule_use_lost", { error: String(error) });
  }
}

function firstTransaction({ result, recordId }: Committed): TransactionView | null {
  const [first] = result?.record.transactions ?? [];
  if (result === null || first === undefined || recordId === null) return null;
  return transactionView({
    ...first,
    id: recordId,
    at: result.record.at,
    metadata: first.payload.metadata,
  });
}
