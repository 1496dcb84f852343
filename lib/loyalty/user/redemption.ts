/**
 * What is kept of a redemption: a product that a user buys.
 *
 * @module
 */

import type { ActionData, Fulfilment, Price } from "../config/document.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ItemId } from "./history.ts";

/** Why a redemption cannot be. */
export type RedemptionFault = "not_available" | "out_of_stock" | "limit_reached" | "insufficient_balance";

/**
 * Where a redemption stands: paid, and not decided (`reserved`); to be handed over (`pending`); handed over; or the price was given
 * back, because there was nothing to sell (`rejected`) or by an operator (`refunded`).
 */
export type RedemptionStatus = "reserved" | "pending" | "completed" | "rejected" | "refunded";

/** What a user got by a redemption. */
export interface Received {
  readonly items: readonly ItemId[];
  /** Ids of the user's own coupons. */
  readonly coupons: readonly string[];
}

/**
 * A redemption. While it is `reserved`, or the stock or code that it took is to be given back, it is in its user's state; otherwise in
 * a record of its own beside that.
 */
export interface Redemption {
  readonly id: string;
  readonly productId: string;
  readonly quantity: number;
  /** What was paid for all of them. */
  readonly cost: Price;
  readonly status: RedemptionStatus;
  /** Why it was rejected. */
  readonly fault?: RedemptionFault;
  readonly fulfilment: Fulfilment;
  /** Whether the product's stock is limited, and so part of it taken for this. */
  readonly takesStock: boolean;
  /** The pool that a code is claimed from for this, where there is one. */
  readonly poolId?: string;
  /** The entries of the ledger that paid for it: what giving back takes back. */
  readonly paid: readonly LedgerEntry[];
  readonly received: Received;
  /** Unix ms for which the purchase counts. */
  readonly boughtAt: number;
  /** Unix ms. */
  readonly changedAt: number;
  readonly metadata?: ActionData;
}

/** Nothing. */
export const nothingReceived: Received = { items: [], coupons: [] };
