/**
 * The parts of the ledger of a metric.
 *
 * Amounts of a metric that keeps lots are safe integers. Other metrics may have a fractional default or bound, and so any
 * finite balance. Instants are Unix ms.
 *
 * @module
 */

/** Points that were credited together, and become usable and expire together. */
export interface Lot {
  readonly id: string;
  /** Credited points. */
  readonly amount: number;
  /** Points left. */
  readonly remaining: number;
  /** Of lots that expire together, the older one is drawn first. */
  readonly creditedAt: number;
  /** When the lot becomes usable; 0 once it is. A pending lot counts in no balance. */
  readonly activatesAt: number;
  /** When the points left expire, exclusive; null: never. */
  readonly expiresAt: number | null;
}

/** Points that an entry took from a lot or returned to it, with all that restores a lot which became empty. */
export interface Draw {
  readonly lot: string;
  readonly amount: number;
  /** Points credited with the lot. */
  readonly of: number;
  readonly creditedAt: number;
  /** Expiry of the lot; for points returned to an expired lot, the end of their grace. */
  readonly expiresAt: number | null;
}

/** A change of one account. */
export interface LedgerMovement {
  readonly type: "credit" | "debit";
  /** Greater than 0. */
  readonly amount: number;
  /** The balance after the change. */
  readonly balanceAfter: number;
  /**
   * `pending`: the points are not usable yet, so the balance stays. `expired`: the points were lost; the balance stays if they
   * were still pending.
   */
  readonly status: "completed" | "pending" | "expired";
  /** Unix ms, where it differs from the time of its record, as in settlements. */
  readonly at?: number;
  /**
   * The lot of a credit after it. In the entry of an activation `activatesAt` is the time of the activation; in other lots of
   * usable points it is 0.
   */
  readonly lot?: Lot;
  /** The lots that a debit drew, or that a reversal returned points to. The rest of the amount was outside all lots. */
  readonly draws?: readonly Draw[];
}

/** An entry of the ledger: a change of one metric. */
export interface LedgerEntry extends LedgerMovement {
  readonly metricId: string;
}

/**
 * The account of a metric. Its balance is the sum of all usable lots and of the points outside them: points from before the
 * metric kept lots, or a negative debt that the next points pay first.
 */
export interface MetricAccount {
  readonly balance: number;
  /** In the order of drawing, none empty. Null: the metric keeps no lots. */
  readonly lots: readonly Lot[] | null;
}

/** The result of a change. */
export interface AccountChange {
  readonly account: MetricAccount;
  /** Null: nothing changed. */
  readonly entry: LedgerMovement | null;
}
