/**
 * Reconciliation of stored balances and lots with the entries of the ledger.
 *
 * @module
 */

import { EntryReplay, isSameBalance } from "./entry_replay.ts";
import type { LedgerEntry, Lot } from "./types.ts";

/** The ledger entries of a history record. */
export interface LedgerRecord {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  /** Version of the configuration that decided. */
  readonly config: string;
  readonly transactions: readonly { readonly entries: readonly LedgerEntry[] }[];
}

/** The stored balances and lots of a user. */
export interface LedgerState {
  readonly metrics: Readonly<Record<string, number>>;
  /** By metric. */
  readonly lots: Readonly<Record<string, readonly Lot[]>>;
  /** Number of records ever written, of which the oldest may have been dropped. */
  readonly records: number;
}

/** The result for a user. */
export interface Reconciliation {
  /** True without faults. */
  readonly ok: boolean;
  readonly metrics: readonly {
    readonly metricId: string;
    /** The stored balance; null: none, the metric has its default value. */
    readonly balance: number | null;
    /** The sum of the entries; null: there are none. */
    readonly folded: number | null;
    /** True if no record of the history was dropped. */
    readonly isComplete: boolean;
  }[];
  /** Contradictions to the entries. */
  readonly faults: readonly {
    readonly metricId: string;
    /** The contradicting record; null: the stored state. */
    readonly recordId: string | null;
    readonly detail: string;
  }[];
}

/**
 * Checks that the balances and lots of a user are the sum of the user's entries. After dropped records the sum of a metric begins
 * with its first entry that is left, and older lots are trusted.
 *
 * @param records The whole history that is left, oldest first.
 * @param defaultOf Returns the default value of a metric in a version of the configuration; null: unknown, taken from the first
 *   entry.
 */
export function reconcile(
  state: LedgerState,
  records: readonly LedgerRecord[],
  defaultOf: (metricId: string, config: string) => number | null,
): Reconciliation {
  const isComplete = state.records === records.length;
  const replays = new Map<string, EntryReplay>();
  const faults: Reconciliation["faults"][number][] = [];
  for (const { id: recordId, at, config, transactions } of records) {
    for (const entry of transactions.flatMap(({ entries }) => entries)) {
      const { metricId } = entry;
      const replay =
        replays.get(metricId) ?? new EntryReplay(isComplete ? defaultOf(metricId, config) : null, isComplete);
      replays.set(metricId, replay);
      for (const detail of replay.add(entry, entry.at ?? at)) faults.push({ metricId, recordId, detail });
    }
  }
  const ids = new Set([...replays.keys(), ...Object.keys(state.metrics), ...Object.keys(state.lots)]);
  const results = [...ids]
    .sort()
    .map(metricId => reconcileMetric(metricId, state, replays.get(metricId), isComplete));
  for (const { metric, details } of results) {
    faults.push(...details.map(detail => ({ metricId: metric.metricId, recordId: null, detail })));
  }
  return { ok: faults.length === 0, metrics: results.map(({ metric }) => metric), faults };
}

function reconcileMetric(
  metricId: string,
  { metrics, lots }: LedgerState,
  replay: EntryReplay | undefined,
  isComplete: boolean,
) {
  const balance = Object.hasOwn(metrics, metricId) ? (metrics[metricId] ?? null) : null;
  const stored = Object.hasOwn(lots, metricId) ? (lots[metricId] ?? []) : [];
  const folded = replay?.sum ?? null;
  const details: string[] = [];
  if (replay === undefined && isComplete && (balance !== null || stored.length > 0))
    details.push("no entry explains the stored value");
  if (replay !== undefined) {
    if (balance === null) details.push(`no balance is stored where the entries make it ${folded}`);
    else if (folded !== null && !isSameBalance(balance, folded)) {
      details.push(`the balance is ${balance} where the entries make it ${folded}`);
    }
    details.push(...replay.differences(stored));
  }
  return { metric: { metricId, balance, folded, isComplete }, details };
}
