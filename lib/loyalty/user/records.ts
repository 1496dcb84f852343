/**
 * Reading a user's history.
 *
 * @module
 */

import {
  type LogEntry,
  type Partition,
  type RecordCache,
  type Store,
  storageLimits,
} from "../../storage/mod.ts";
import { type HistoryTransaction, type StoredRecord, transactionsOf } from "./history.ts";
import type { UserState } from "./state.ts";
import { parseRecord } from "./stored_record.ts";

/** Most transactions that one history request answers. */
export const historyPageMax = 1_000;

/** From when to when, Unix ms, both inclusive. */
export interface HistoryRange {
  readonly from?: number;
  readonly to?: number;
}

/** A record as it is stored. */
export function parseEntry({ id, value }: LogEntry): StoredRecord {
  return { ...parseRecord(value), id };
}

/** Transactions in ascending time, at most a page of them. Records without any do not count. */
export async function readTransactions(
  store: Store,
  partition: Partition,
  range: HistoryRange,
): Promise<readonly HistoryTransaction[]> {
  const found: HistoryTransaction[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { type: "log", key: "history", limit: storageLimits.rangeLimitMax, ...range } as const;
    const [entries] = await store.read(partition, [cursor === undefined ? query : { ...query, cursor }]);
    found.push(...entries.flatMap(entry => transactionsOf(parseEntry(entry))));
    cursor = entries.at(-1)?.id;
    if (entries.length < storageLimits.rangeLimitMax || found.length >= historyPageMax)
      return found.slice(0, historyPageMax);
  }
}

/** Hands on all records that are left, oldest first, and answers the state that they led to; null: there is none. */
export async function readWholeHistory(
  store: Store,
  partition: Partition,
  {
    states,
    take,
  }: {
    readonly states: RecordCache<UserState>;
    readonly take: (record: StoredRecord) => void;
  },
): Promise<UserState | null> {
  for (let cursor: string | undefined; ; ) {
    const query = { type: "log", key: "history", limit: storageLimits.rangeLimitMax } as const;
    // The state of the instant at which the last page was read is the one that all records together led to.
    const [stored, entries] = await store.read(partition, [
      states.query,
      cursor === undefined ? query : { ...query, cursor },
    ]);
    for (const entry of entries) take(parseEntry(entry));
    cursor = entries.at(-1)?.id ?? cursor;
    if (entries.length < storageLimits.rangeLimitMax)
      return stored === null ? null : states.valueOf(partition, stored);
  }
}
