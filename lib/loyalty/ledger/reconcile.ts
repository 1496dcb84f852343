import { EntryReplay, isSame } from "./_fold.ts";
import type { LedgerEntry, Lot } from "./types.ts";

/** A record of a user's history, as far as the ledger is concerned. */
export interface LedgerRecord {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  /** Version of the configuration that decided. */
  readonly config: string;
  readonly transactions: readonly { readonly entries: readonly LedgerEntry[] }[];
}

/** What is stored of a user, as far as the ledger is concerned. */
export interface LedgerState {
  readonly metrics: Readonly<Record<string, number>>;
  /** By metric. */
  readonly lots: Readonly<Record<string, readonly Lot[]>>;
  /** How many records the user's history ever had; the oldest may have been dropped. */
  readonly records: number;
}

/** What reconciliation goes by. */
export interface ReconcileOptions {
  /** The default value of a metric in a version of the configuration; null: unknown, and taken from the first entry. */
  readonly defaultOf: (metricId: string, config: string) => number | null;
}

/** The proof of one metric. */
export interface ReconciledMetric {
  readonly metricId: string;
  /** What is stored; null where nothing is, and so the metric has its default value. */
  readonly balance: number | null;
  /** What the entries add up to; null where there are none. */
  readonly folded: number | null;
  /** Whether the fold begins with the user's first record, and not after records that were dropped. */
  readonly isComplete: boolean;
}

/** Something that does not follow from the entries. */
export interface LedgerFault {
  readonly metricId: string;
  /** The record at which it shows; null: only the stored state shows it. */
  readonly recordId: string | null;
  readonly detail: string;
}

/** The proof of a user's ledger. */
export interface Reconciliation {
  /** Whether there is no fault. */
  readonly ok: boolean;
  readonly metrics: readonly ReconciledMetric[];
  readonly faults: readonly LedgerFault[];
}

/**
 * Proves that what is stored of a user is the fold of the user's entries: balances and lots.
 *
 * Where records were dropped, a metric's fold begins with its first entry that is left, and lots of before are taken as they
 * are.
 *
 * @param records All that are left of the history, in ascending order.
 */
export function reconcile(
  state: LedgerState,
  records: readonly LedgerRecord[],
  { defaultOf }: ReconcileOptions,
): Reconciliation {
  const isComplete = state.records === records.length;
  const folds = new Map<string, EntryReplay>();
  const faults: LedgerFault[] = [];
  for (const { id: recordId, at, config, transactions } of records) {
    for (const entry of transactions.flatMap(({ entries }) => entries)) {
      const { metricId } = entry;
      const fold =
        folds.get(metricId) ??
        new EntryReplay({ balance: isComplete ? defaultOf(metricId, config) : null, isComplete });
      folds.set(metricId, fold);
      for (const detail of fold.add(entry, entry.at ?? at)) faults.push({ metricId, recordId, detail });
    }
  }
  const ids = new Set([...folds.keys(), ...Object.keys(state.metrics), ...Object.keys(state.lots)]);
  const proofs = [...ids]
    .sort()
    .map(metricId => proof(metricId, state, { fold: folds.get(metricId), isComplete }));
  faults.push(...proofs.flatMap(({ faults: atEnd }) => atEnd));
  return { ok: faults.length === 0, metrics: proofs.map(({ metric }) => metric), faults };
}

interface Proof {
  readonly metric: ReconciledMetric;
  readonly faults: readonly LedgerFault[];
}

function proof(
  metricId: string,
  { metrics, lots }: LedgerState,
  { fold, isComplete }: { readonly fold: EntryReplay | undefined; readonly isComplete: boolean },
): Proof {
  const balance = Object.hasOwn(metrics, metricId) ? (metrics[metricId] ?? null) : null;
  const stored = Object.hasOwn(lots, metricId) ? (lots[metricId] ?? []) : [];
  const folded = fold?.folded ?? null;
  const details: string[] = [];
  if (fold === undefined && isComplete && (balance !== null || stored.length > 0))
    details.push("no entry tells where the stored value comes from");
  if (fold !== undefined) {
    if (balance === null) details.push(`no balance is stored where the entries make it ${folded}`);
    else if (folded !== null && !isSame(balance, folded)) {
      details.push(`the balance is ${balance} where the entries make it ${folded}`);
    }
    details.push(...fold.differences(stored));
  }
  return {
    metric: { metricId, balance, folded, isComplete },
    faults: details.map(detail => ({ metricId, recordId: null, detail })),
  };
}
