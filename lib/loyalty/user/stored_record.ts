/**
 * The stored form of history records: JSON without empty members, and with plain ledger entries as tuples.
 *
 * @module
 */

import { flattenString } from "../../text/mod.ts";
import { hasEntries } from "../config/own_property.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ChangePayload, HistoryRecord, ItemId, Transaction } from "./history.ts";

/** A completed entry without lots. The amount of a debit is negative. */
type StoredEntry = readonly [metricId: string, amount: number, balanceAfter: number];
type Subject = Omit<ChangePayload, "metricChanges" | "inventoryChanges" | "milestoneChanges">;

interface StoredTransaction {
  readonly type: string;
  readonly at?: number;
  readonly about?: Subject;
  readonly metrics?: Readonly<Record<string, readonly [oldValue: number, newValue: number]>>;
  readonly received?: readonly ItemId[];
  readonly lost?: readonly ItemId[];
  readonly milestones?: ChangePayload["milestoneChanges"];
  readonly entries?: readonly (StoredEntry | LedgerEntry)[];
}

type ShortRecord = Omit<HistoryRecord, "transactions"> & {
  readonly transactions?: readonly StoredTransaction[];
};

/** Returns the text of a record. */
export function printRecord(record: HistoryRecord): string {
  const { kind, action, grant, adjustment, reversalOf, redemption, mergedFrom, at, config } = record;
  // Undefined members have no JSON, and members by name are faster than a spread.
  const transactions = nonEmpty(record.transactions.map(shortTransaction));
  const stored: { readonly [K in keyof Required<HistoryRecord>]: unknown } = {
    kind,
    action,
    grant,
    adjustment,
    reversalOf,
    redemption,
    mergedFrom,
    at,
    config,
    transactions,
  };
  return flattenString(JSON.stringify(stored));
}

/** Parses the text of a record. */
export function parseRecord(text: string): HistoryRecord {
  const { transactions = [], ...rest } = JSON.parse(text) as ShortRecord;
  return { ...rest, transactions: transactions.map(transactionOf) };
}

function shortTransaction({ type, at, payload, entries }: Transaction): unknown {
  const { metricChanges, inventoryChanges, milestoneChanges, ...about } = payload;
  return {
    type,
    at,
    about: hasEntries(about) ? about : undefined,
    metrics: hasEntries(metricChanges) ? pairsOf(metricChanges) : undefined,
    received: nonEmpty(inventoryChanges.received),
    lost: nonEmpty(inventoryChanges.lost),
    milestones: hasEntries(milestoneChanges) ? milestoneChanges : undefined,
    entries: nonEmpty(entries.map(shortEntry)),
  } satisfies { readonly [K in keyof StoredTransaction]: StoredTransaction[K] | undefined };
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function transactionOf(short: StoredTransaction): Transaction {
  const { type, at, about, metrics = {}, received = [], lost = [], milestones = {}, entries = [] } = short;
  const metricChanges: Record<string, { oldValue: number; newValue: number }> = {};
  for (const [id, [oldValue, newValue]] of Object.entries(metrics)) {
    metricChanges[id] = { oldValue, newValue };
  }
  const inventoryChanges = { received, lost };
  return {
    type,
    ...(at === undefined ? {} : { at }),
    payload: { ...about, metricChanges, inventoryChanges, milestoneChanges: milestones },
    entries: entries.map(entryOf),
  };
}

function pairsOf(changes: ChangePayload["metricChanges"]): Record<string, readonly [number, number]> {
  const pairs: Record<string, readonly [number, number]> = {};
  for (const id of Object.keys(changes)) {
    const change = changes[id];
    if (change !== undefined) pairs[id] = [change.oldValue, change.newValue];
  }
  return pairs;
}

function shortEntry(entry: LedgerEntry): StoredEntry | LedgerEntry {
  const { metricId, type, amount, balanceAfter, status, at, lot, draws } = entry;
  const isPlain = status === "completed" && at === undefined && lot === undefined && draws === undefined;
  return isPlain ? [metricId, type === "credit" ? amount : -amount, balanceAfter] : entry;
}

function entryOf(short: StoredEntry | LedgerEntry): LedgerEntry {
  if ("metricId" in short) return short;
  const [metricId, amount, balanceAfter] = short;
  const type = amount < 0 ? "debit" : "credit";
  return { metricId, type, amount: Math.abs(amount), balanceAfter, status: "completed" };
}
