/**
 * What the ledger of a user's metric is made of.
 *
 * Amounts of a metric that keeps lots are safe integers. Other metrics may have a fractional default or bound, and so any
 * finite balance. Instants are Unix ms.
 *
 * @module
 */

/** Points that were credited together, and become usable and expire together. */
export interface Lot {
  readonly id: string;
  /** What was credited. */
  readonly amount: number;
  /** What is left of it. */
  readonly remaining: number;
  /** When it was credited; of lots that expire together, the older one is drawn first. */
  readonly creditedAt: number;
  /** From when on it can be drawn: 0 once that is so. A lot with another value is pending, and counts in no balance. */
  readonly activatesAt: number;
  /** When what is left is lost: at this instant it is gone already. Null: never. */
  readonly expiresAt: number | null;
}

/** What one entry took from a lot or, in a credit, put back; with all that is needed to bring the lot back to life. */
export interface Draw {
  readonly lot: string;
  readonly amount: number;
  /** What had once been credited with the lot. */
  readonly of: number;
  readonly creditedAt: number;
  /** When the lot expires; after a draw from an expired lot was put back, the end of its grace. */
  readonly expiresAt: number | null;
}

/** A change of a metric, without its name. */
export interface LedgerMovement {
  readonly type: "credit" | "debit";
  /** Greater than 0. */
  readonly amount: number;
  /** What the metric shows afterwards. */
  readonly balanceAfter: number;
  /**
   * `pending`: the change concerns points that are not usable yet, so the balance stays. `expired`: they were lost; the balance
   * stays where they were still pending.
   */
  readonly status: "completed" | "pending" | "expired";
  /** When it counts, where that is not the time of its record: settlement dates what it finds. */
  readonly at?: number;
  /**
   * The lot of a credit, as it is afterwards. Of one that has become usable just now, `activatesAt` says when; otherwise
   * that is 0 in a lot of usable points.
   */
  readonly lot?: Lot;
  /** The lots that a debit drew, or that a reversal put points back to. What they do not cover was outside all lots. */
  readonly draws?: readonly Draw[];
}

/** An entry of the ledger: a change of one metric. */
export interface LedgerEntry extends LedgerMovement {
  readonly metricId: string;
}

/**
 * A metric of a user. The balance is what all usable lots hold plus what is outside them: points from before the metric
 * kept lots, or, where that is negative, a debt that the next points pay first.
 */
export interface MetricAccount {
  readonly balance: number;
  /** In the order in which they are drawn, none empty. Null: the metric keeps no lots. A metric that has lots goes on keeping them. */
  readonly lots: readonly Lot[] | null;
}

/** What a change made of an account. */
export interface AccountChange {
  readonly account: MetricAccount;
  /** Null where nothing changed. */
  readonly entry: LedgerMovement | null;
}
