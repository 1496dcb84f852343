/**
 * Reads of a user's history.
 *
 * @module
 */

import type { Earning } from "../../leaderboards/mod.ts";
import {
  type LogEntry,
  type Partition,
  type RecordCache,
  type Store,
  storageLimits,
} from "../../storage/mod.ts";
import { type HistoryEntry, type HistoryTransaction, transactionsOf } from "./history.ts";
import { type SpaceUser, spaceUserPartition } from "./space_user.ts";
import type { UserState } from "./state.ts";
import { parseRecord } from "./stored_state.ts";

/** A history request returns this many transactions at most. */
export const historyPageMax = 1_000;

/** Parses an entry of the history. */
export function parseEntry({ id, value }: LogEntry): HistoryEntry {
  return { ...parseRecord(value), id };
}

/** Returns a page of transactions from a range of time (Unix ms, both ends inclusive), oldest first. Records without any do not count. */
export async function readTransactions(
  store: Store,
  partition: Partition,
  range: { readonly from?: number; readonly to?: number },
): Promise<readonly HistoryTransaction[]> {
  const found: HistoryTransaction[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { type: "log", key: "history", limit: storageLimits.rangeLimitMax, ...range } as const;
    const [entries] = await store.read(partition, [cursor === undefined ? query : { ...query, cursor }]);
    found.push(...entries.flatMap(entry => transactionsOf(parseEntry(entry))));
    cursor = entries.at(-1)?.id;
    if (entries.length < storageLimits.rangeLimitMax || found.length >= historyPageMax) {
      return found.slice(0, historyPageMax);
    }
  }
}

/** Sums what a record gained. Points that expired or became usable count for that time, and for no action. */
export function earningOf({ at, action, transactions }: HistoryEntry): Earning {
  const metrics = new Map<string, number>();
  for (const { payload } of transactions) {
    for (const [id, { oldValue, newValue }] of Object.entries(payload.metricChanges)) {
      metrics.set(id, (metrics.get(id) ?? 0) + newValue - oldValue);
    }
  }
  const changed = [...metrics].filter(([, by]) => by !== 0);
  const { name, data } = action ?? { name: "", data: {} };
  return { at: action?.at ?? at, gain: { action: name, data, metrics: Object.fromEntries(changed) } };
}

/** Passes all records that are left to `take`, oldest first, and returns the state that they led to; null: there is none. */
export async function readWholeHistory(
  store: Store,
  partition: Partition,
  states: RecordCache<UserState>,
  take: (record: HistoryEntry) => void,
): Promise<UserState | null> {
  for (let cursor: string | undefined; ; ) {
    const query = { type: "log", key: "history", limit: storageLimits.rangeLimitMax } as const;
    // The last page is read at one instant with the state that all records led to.
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

/** Reads the state of a user and all recorded earnings, oldest first, those of merged users at the times at which these earned them. */
export async function readEarnings(
  store: Store,
  states: RecordCache<UserState>,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<{ readonly state: UserState | null; readonly earnings: readonly Earning[] }> {
  const own: Earning[] = [];
  const merged: string[] = [];
  const state = await readWholeHistory(store, spaceUserPartition(user), states, record => {
    const { inheritance } = record.grant ?? {};
    if (inheritance === undefined) own.push(earningOf(record));
    else merged.push(inheritance.from);
  });
  if (merged.length === 0) return { state, earnings: own };
  const others = await Promise.all(merged.map(userId => readEarnings(store, states, { ...user, userId })));
  const earnings = [...own, ...others.flatMap(other => other.earnings)];
  return { state, earnings: earnings.sort((a, b) => a.at - b.at) };
}
