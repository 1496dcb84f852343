/**
 * What a user gained, as boards count it, read off the user's history.
 *
 * @module
 */

import type { Earning, UserEarnings } from "../../leaderboards/mod.ts";
import type { StoredRecord } from "../user/history.ts";
import { readWholeHistory } from "../user/read_history.ts";
import type { UserSource } from "./verification.ts";

/**
 * Reads what is recorded of a user; null where there is no such user. Points that lapsed or became usable count for the
 * time at which they did, and for no action.
 */
export async function readEarnings({ store, partition, states }: UserSource): Promise<UserEarnings | null> {
  const earnings: Earning[] = [];
  const take = (record: StoredRecord): void => {
    earnings.push(earningOf(record));
  };
  const state = await readWholeHistory(store, partition, { states, take });
  if (state === null) return null;
  const { projectId, revision, changedAt, metrics } = state;
  return { projectId, revision, changedAt, metrics, earnings };
}

function earningOf({ at, action, transactions }: StoredRecord): Earning {
  const metrics = new Map<string, number>();
  for (const { payload } of transactions) {
    for (const [id, { oldValue, newValue }] of Object.entries(payload.metricChanges)) {
      metrics.set(id, (metrics.get(id) ?? 0) + newValue - oldValue);
    }
  }
  const changed = [...metrics].filter(([, by]) => by !== 0);
  const { name, data } = action ?? { name: "", data: {} };
  return { at, gain: { action: name, data, metrics: Object.fromEntries(changed) } };
}
