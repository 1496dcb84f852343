/**
 * The ledger of a user's metrics: append-only entries over lots of points that become usable and expire. All of it is pure:
 * accounts go in, accounts and entries come out.
 *
 * @module
 */

export {
  type Balances,
  balancesOf,
  balancesValidUntil,
  expiringSoonMax,
  expiringSoonMs,
} from "./balances.ts";
export { type CreditOptions, credit, lotsMax } from "./credit.ts";
export { type DebitOptions, debit } from "./debit.ts";
export {
  type LedgerFault,
  type LedgerRecord,
  type LedgerState,
  type ReconciledMetric,
  type ReconcileOptions,
  type Reconciliation,
  reconcile,
} from "./reconcile.ts";
export { isReversible, type ReverseOptions, reversalGraceMs, reverseEntry } from "./reverse.ts";
export { nextSettlement, type SettledAccount, settleLots } from "./settle.ts";
export type { AccountChange, Draw, LedgerEntry, LedgerMovement, Lot, MetricAccount } from "./types.ts";
