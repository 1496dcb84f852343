/** Reads of a user's history. */

import type { LogEntry, Partition, ReadLog, RecordCache, Store } from "../../../storage/mod.ts";
import type { Earning } from "../../leaderboards/mod.ts";
import { type HistoryEntry, type HistoryTransaction, transactionsOf } from "./history.ts";
import type { UserState } from "./state.ts";
import { type SpaceUser, spaceUserPartition } from "./state.ts";
import { parseRecord } from "./stored_state.ts";

/** A history request returns this many transactions at most. */
export const historyPageMax = 1_000;

/** Most records of one read, so that the reply stays small beside those of others. */
export const historyReadMax = 250;

/** Records of the first read, whose sizes are not known, and bytes that the following ones aim at. */
const firstReadMax = 32;

const readBytes = 262_144;

/** Bounds the next read of records by the sizes of those before. */
export class ReadSize {
  #records = 0;
  #bytes = 0;

  get limit(): number {
    if (this.#records === 0) return firstReadMax;
    const average = Math.max(1, this.#bytes / this.#records);
    return Math.max(1, Math.min(historyReadMax, Math.floor(readBytes / average)));
  }

  add(entries: readonly LogEntry[]): void {
    this.#records += entries.length;
    for (const { value } of entries) this.#bytes += value.length;
  }
}

/** Part of a history. Times in Unix ms, inclusive. */
interface HistoryRange {
  readonly from: number;
  /** @default the end */
  readonly to?: number;
  readonly recordsMax: number;
}

export async function findRecord(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  part: HistoryRange,
  isWanted: (record: HistoryEntry) => boolean,
): Promise<HistoryEntry | null> {
  for await (const record of recordsIn(store, user, part)) if (isWanted(record)) return record;
  return null;
}

/** Yields the records of a part of the history, oldest first. */
export async function* recordsIn(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  { recordsMax, ...range }: HistoryRange,
): AsyncGenerator<HistoryEntry, void> {
  const partition = spaceUserPartition(user);
  const size = new ReadSize();
  let cursor: string | undefined;
  for (let left = recordsMax; left > 0; ) {
    const limit = Math.min(size.limit, left);
    const [entries] = await store.read(partition, [{ ...readNextRecords(cursor, range), limit }]);
    for (const entry of entries) yield parseEntry(entry);
    if (entries.length < limit) return;
    size.add(entries);
    left -= entries.length;
    cursor = entries.at(-1)?.id;
  }
}

export function readNextRecords(
  cursor: string | undefined,
  range: Pick<ReadLog, "from" | "to"> = {},
): ReadLog {
  const read: ReadLog = { type: "log", key: "history", limit: historyReadMax, ...range };
  return cursor === undefined ? read : { ...read, cursor };
}

export function parseEntry({ id, value }: LogEntry): HistoryEntry {
  return { ...parseRecord(value), id };
}

export interface HistoryQuery {
  /** Unix ms, inclusive. */
  readonly from?: number | undefined;
  /** Unix ms, inclusive. */
  readonly to?: number | undefined;
  /** Most transactions. @default {@linkcode historyPageMax} */
  readonly limit?: number | undefined;
  /** Id of the transaction after which the page begins. */
  readonly after?: string | undefined;
}

/** A page of transactions, oldest first. */
export interface HistoryPage<T> {
  readonly transactions: readonly T[];
  /** Id of the last transaction, or of the last record without any, where others may follow; else null. */
  readonly end: string | null;
}

/** Most records that a page reads, as many may have no transactions, and most bytes of their texts. */
const pageRecordsMax = 2_500;

const pageBytesMax = 1_048_576;

/** Reads a page of transactions. It may be short, or empty, and still have an end from which the next one continues. */
export async function readTransactions(
  store: Store,
  partition: Partition,
  { from = 0, to, limit: limitWanted = historyPageMax, after }: HistoryQuery,
): Promise<HistoryPage<HistoryTransaction>> {
  const position = after === undefined ? null : orderOf(after);
  const range = { from: Math.max(from, position?.[0] ?? 0), to: to ?? Number.MAX_SAFE_INTEGER };
  const found: HistoryTransaction[] = [];
  // The record of the position is read once more, as some of its transactions may follow.
  let cursor = position === null ? undefined : `${position[0]}-${Math.max(0, position[1] - 1)}`;
  let end: string | null = after ?? null;
  let bytes = 0;
  const size = new ReadSize();
  for (let records = 0; records < pageRecordsMax; ) {
    const limit = records === 0 ? Math.min(size.limit, limitWanted + 1) : size.limit;
    const [entries] = await store.read(partition, [{ ...readNextRecords(cursor, range), limit }]);
    size.add(entries);
    for (const entry of entries) {
      bytes += entry.value.length;
      if (records > 0 && bytes > pageBytesMax) return { transactions: found, end };
      records += 1;
      end = entry.id;
      for (const transaction of transactionsOf(parseEntry(entry))) {
        if (position !== null && !isAfter(transaction.id, position)) continue;
        if (found.length === limitWanted) return { transactions: found, end: found.at(-1)?.id ?? null };
        found.push(transaction);
        end = transaction.id;
      }
    }
    cursor = entries.at(-1)?.id;
    if (entries.length < limit) return { transactions: found, end: null };
  }
  return { transactions: found, end };
}

/** Ids of transactions are ordered by the time and number of their record, and then by their own number. */
type Order = readonly [at: number, record: number, transaction: number];

function orderOf(id: string): Order {
  const [at = 0, record = 0, transaction = 0] = id.split(/[-.]/).map(Number);
  return [at, record, transaction];
}

function isAfter(id: string, position: Order): boolean {
  const order = orderOf(id);
  const index = order.findIndex((part, n) => part !== position[n]);
  return index >= 0 && (order[index] ?? 0) > (position[index] ?? 0);
}

/** Sums what a record gained. Points that expired or became usable count for that time, and for no action. */
export function earningOf({ at, action, reversed, transactions }: HistoryEntry): Earning {
  const metrics = new Map<string, number>();
  for (const { payload } of transactions) {
    for (const [id, { oldValue, newValue }] of Object.entries(payload.metricChanges)) {
      metrics.set(id, (metrics.get(id) ?? 0) + newValue - oldValue);
    }
  }
  const changed = [...metrics].filter(([, by]) => by !== 0);
  const gained = Object.fromEntries(changed);
  // Boards give back what they counted for the action, but the action itself was counted once.
  if (reversed !== undefined) {
    return { at: reversed.at, gain: { action: "", data: reversed.data, metrics: gained } };
  }
  const { name, eventId, data: reported } = action ?? { name: "", data: {} };
  const data = eventId === undefined ? reported : { ...reported, eventId };
  // A reveal is no action of its own.
  const counted = action?.isReveal === true ? "" : name;
  return { at: action?.at ?? at, gain: { action: counted, data, metrics: gained } };
}

/** Passes all records that are left to `take`, oldest first, and returns the state that they led to; null: there is none. */
export async function readWholeHistory(
  store: Store,
  partition: Partition,
  states: RecordCache<UserState>,
  take: (record: HistoryEntry) => void,
): Promise<UserState | null> {
  const size = new ReadSize();
  for (let cursor: string | undefined; ; ) {
    const { limit } = size;
    // The last page is read at one instant with the state that all records led to.
    const [stored, entries] = await store.read(partition, [
      states.query,
      { ...readNextRecords(cursor), limit },
    ]);
    size.add(entries);
    for (const entry of entries) take(parseEntry(entry));
    cursor = entries.at(-1)?.id ?? cursor;
    if (entries.length < limit) return stored === null ? null : states.valueOf(partition, stored);
  }
}

export async function readEarnings(
  store: Store,
  states: RecordCache<UserState>,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<{ readonly state: UserState | null; readonly earnings: readonly Earning[] }> {
  const records: HistoryEntry[] = [];
  const state = await readWholeHistory(store, spaceUserPartition(user), states, record =>
    records.push(record),
  );
  return { state, earnings: await earningsOf(store, states, user, records) };
}

/** Returns what a user's records earned, oldest first, and what merged users earned at the times at which they did. */
export async function earningsOf(
  store: Store,
  states: RecordCache<UserState>,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  records: readonly HistoryEntry[],
): Promise<readonly Earning[]> {
  const own: Earning[] = [];
  const merged: string[] = [];
  for (const record of records) {
    const { inheritance } = record.grant ?? {};
    if (inheritance === undefined) own.push(earningOf(record));
    else merged.push(inheritance.from);
  }
  if (merged.length === 0) return own;
  const others = await Promise.all(merged.map(userId => readEarnings(store, states, { ...user, userId })));
  const earnings = [...own, ...others.flatMap(other => other.earnings)];
  return earnings.sort((a, b) => a.at - b.at);
}
