/**
 * How a record stands in a user's history: as JSON without what is empty, and with entries of the ledger in a short form.
 *
 * @module
 */

import { hasAny } from "./_own.ts";
import type { ChangePayload, HistoryRecord, ItemId, Transaction } from "./history.ts";
import type { LedgerEntry } from "./ledger/mod.ts";

/** An entry that is complete and knows no lots; the amount of a debit is negative. */
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

interface ShortRecord extends Omit<HistoryRecord, "transactions"> {
  readonly transactions?: readonly StoredTransaction[];
}

/** The text of a record. */
export function printRecord(record: HistoryRecord): string {
  const { transactions, ...rest } = record;
  const short: ShortRecord =
    transactions.length === 0 ? rest : { ...rest, transactions: transactions.map(shortTransaction) };
  return JSON.stringify(short);
}

/** The record of a text. */
export function parseRecord(text: string): HistoryRecord {
  const { transactions = [], ...rest } = JSON.parse(text) as ShortRecord;
  return { ...rest, transactions: transactions.map(transactionOf) };
}

function shortTransaction({ type, at, payload, entries }: Transaction): StoredTransaction {
  const { metricChanges, inventoryChanges, milestoneChanges, ...about } = payload;
  const short: { -readonly [K in keyof StoredTransaction]: StoredTransaction[K] } = { type };
  if (at !== undefined) short.at = at;
  if (hasAny(about)) short.about = about;
  if (hasAny(metricChanges)) short.metrics = pairsOf(metricChanges);
  if (inventoryChanges.received.length > 0) short.received = inventoryChanges.received;
  if (inventoryChanges.lost.length > 0) short.lost = inventoryChanges.lost;
  if (hasAny(milestoneChanges)) short.milestones = milestoneChanges;
  if (entries.length > 0) short.entries = entries.map(shortEntry);
  return short;
}

function transactionOf(short: StoredTransaction): Transaction {
  const { type, at, about, metrics = {}, received = [], lost = [], milestones = {}, entries = [] } = short;
  const metricChanges: Record<string, { oldValue: number; newValue: number }> = {};
  for (const [id, [oldValue, newValue]] of Object.entries(metrics))
    metricChanges[id] = { oldValue, newValue };
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
