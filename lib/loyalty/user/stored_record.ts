/**
 * How a record stands in a user's history: as JSON without what is empty, and with entries of the ledger in a short form.
 *
 * @module
 */

import { flattenString } from "../../text/mod.ts";
import { hasEntries } from "../config/own_property.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ChangePayload, HistoryRecord, ItemId, Transaction } from "./history.ts";

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

/** On the way to its text, where members that are undefined have none. */
type Written<T> = { readonly [K in keyof Required<T>]: T[K] | undefined };

/** The text of a record. */
export function printRecord(record: HistoryRecord): string {
  const { kind, action, grant, adjustment, reversalOf, redemption, mergedFrom, at, config, transactions } =
    record;
  // Each member by its name, which is several times faster than a copy; those that a record lacks have no text.
  const short: Omit<Written<ShortRecord>, "transactions"> & {
    readonly transactions: readonly Written<StoredTransaction>[] | undefined;
  } = {
    kind,
    action,
    grant,
    adjustment,
    reversalOf,
    redemption,
    mergedFrom,
    at,
    config,
    transactions: transactions.length === 0 ? undefined : transactions.map(shortTransaction),
  };
  return flattenString(JSON.stringify(short));
}

/** The record of a text. */
export function parseRecord(text: string): HistoryRecord {
  const { transactions = [], ...rest } = JSON.parse(text) as ShortRecord;
  return { ...rest, transactions: transactions.map(transactionOf) };
}

function shortTransaction({ type, at, payload, entries }: Transaction): Written<StoredTransaction> {
  const { metricChanges, inventoryChanges, milestoneChanges } = payload;
  const { received, lost } = inventoryChanges;
  return {
    type,
    at,
    about: subjectOf(payload),
    metrics: hasEntries(metricChanges) ? pairsOf(metricChanges) : undefined,
    received: received.length === 0 ? undefined : received,
    lost: lost.length === 0 ? undefined : lost,
    milestones: hasEntries(milestoneChanges) ? milestoneChanges : undefined,
    entries: entries.length === 0 ? undefined : entries.map(shortEntry),
  };
}

/** Undefined where a transaction is about nothing in particular, as most are: a copy would cost more than the look. */
function subjectOf(payload: ChangePayload): Subject | undefined {
  for (const name in payload) {
    if (name === "metricChanges" || name === "inventoryChanges" || name === "milestoneChanges") continue;
    const { metricChanges: _, inventoryChanges: __, milestoneChanges: ___, ...subject } = payload;
    return subject;
  }
  return undefined;
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
