/**
 * The ledger of metrics: append-only entries over lots of points that become usable and expire. All functions are pure: accounts
 * go in, accounts and entries come out.
 *
 * @module
 */

export { credit, debit } from "./movements.ts";
export {
  type LedgerRecord,
  type LedgerState,
  type Reconciliation,
  reconcile,
} from "./reconcile.ts";
export { isReversible, reverseEntry } from "./reverse.ts";
export {
  type Balances,
  balancesOf,
  balancesValidUntil,
  expireUsable,
  nextSettlement,
  settleLots,
} from "./settle_lots.ts";
export type { AccountChange, LedgerEntry, LedgerMovement, Lot, MetricAccount } from "./types.ts";
