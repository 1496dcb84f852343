/**
 * What is kept of everything that ever happened to a user's loyalty: one record each, from which history, ledger and replay
 * are read.
 *
 * @module
 */

import type { NotificationSetting, Price, Reward } from "../config/document.ts";
import type { MetricReward } from "../config/rewards.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { PointDates } from "./given_dates.ts";

/** A correction of a metric: the value that it is to have, or what is added to it. */
export interface MetricChange {
  readonly metricId: string;
  readonly op: "set" | "incr";
  /** A safe integer; `incr` takes where it is negative. */
  readonly value: number;
}

/** What an action says of itself. */
export type ActionData = Readonly<Record<string, string | number | boolean>>;

/** A reward that a back end gives. */
export type GrantedReward = Exclude<Reward, { readonly type: "metric" }> | (MetricReward & PointDates);

/** Something that happened to a user's loyalty. Actions without effects have a record too. */
export interface HistoryRecord {
  readonly kind: "action" | "settlement" | "grant" | "adjustment" | "reversal" | "redemption";
  /** Unix ms that the happening counts for; never before the record before. */
  readonly at: number;
  /** The version of the configuration that decided. */
  readonly config: string;
  readonly action?: {
    readonly name: string;
    readonly data: ActionData;
    readonly id?: string;
    /** The rules that a global limit held back, with how often they had fired before by this action. */
    readonly limited?: Readonly<Record<string, number>>;
  };
  readonly grant?: {
    readonly rewards: readonly GrantedReward[];
    readonly reason: string;
    readonly id?: string;
    /** As of an action. */
    readonly limited?: Readonly<Record<string, number>>;
  };
  readonly adjustment?: {
    readonly changes: readonly MetricChange[];
    readonly reason: string;
    /** As of an action. */
    readonly limited?: Readonly<Record<string, number>>;
  };
  /** The id of the transaction that was taken back. */
  readonly reversalOf?: string;
  readonly redemption?: RedemptionEvent;
  /** Of a settlement in which time passed over several instants at once: the first of them, Unix ms. */
  readonly mergedFrom?: number;
  readonly transactions: readonly Transaction[];
}

/**
 * What became of a redemption: the price was taken and the product not given yet (`reserved`), or both at once (`sold`); it was
 * given (`confirmed`), or the price given back instead (`rejected`); an operator handed it over (`completed`) or gave
 * the price back (`refunded`).
 */
export type RedemptionStep = "reserved" | "sold" | "confirmed" | "rejected" | "completed" | "refunded";

/** A step of a redemption, with all that it did: a replay decides nothing of it anew. */
export interface RedemptionEvent {
  readonly id: string;
  readonly step: RedemptionStep;
  readonly productId: string;
  readonly quantity: number;
  /** What was paid for all of them. */
  readonly cost: Price;
  /** Unix ms for which the redemption counts. */
  readonly boughtAt: number;
  /** What was given, with `confirmed` and `sold`. */
  readonly given?: readonly Reward[];
  /** As of an action. */
  readonly limited?: Readonly<Record<string, number>>;
}

/** A record with its place in the history. */
export interface StoredRecord extends HistoryRecord {
  /** Id of the log entry: also the id of the record's first transaction. */
  readonly id: string;
}

/** The types of transactions. More may come. */
export type TransactionType =
  | "actionRewarded"
  | "missionCompleted"
  | "challengeStarted"
  | "challengeCompleted"
  | "challengeFailed"
  | "milestoneReached"
  | "couponReceived"
  | "pointsExpired"
  | "pointsActivated"
  | "rewardGranted"
  | "adjusted"
  | "reversed"
  | "redeemed"
  | "redemptionConfirmed"
  | "redemptionRejected"
  | "redemptionCompleted"
  | "redemptionRefunded";

/** A part of what happened, as the history shows it, with the entries that it made in the ledger. */
export interface Transaction {
  readonly type: string;
  /** Unix ms, where that is not the time of its record. */
  readonly at?: number;
  readonly payload: ChangePayload;
  readonly entries: readonly LedgerEntry[];
}

/** An item of an inventory set. */
export interface ItemId {
  readonly setId: string;
  readonly itemId: string;
}

/** What changed, as transactions and notifications tell it. */
export interface ChangePayload {
  readonly challengeId?: string;
  readonly missionId?: string;
  /** A coupon of the configuration, and the id of the one that the user was given. */
  readonly couponId?: string;
  readonly userCouponId?: string;
  readonly redemptionId?: string;
  readonly productId?: string;
  readonly quantity?: number;
  /** What whoever redeemed, or a back end that gave, said of it. */
  readonly metadata?: ActionData;
  /** Why a back end gave it, or why a redemption was rejected. */
  readonly reason?: string;
  readonly metricChanges: Readonly<Record<string, { readonly oldValue: number; readonly newValue: number }>>;
  readonly inventoryChanges: { readonly received: readonly ItemId[]; readonly lost: readonly ItemId[] };
  /** Ids of milestones by the id of their set; an empty one: none. */
  readonly milestoneChanges: Readonly<
    Record<string, { readonly oldValue: string; readonly newValue: string }>
  >;
}

/** An announcement to the user. */
export interface Notification extends NotificationSetting {
  /** The type of the transaction that it is about, or `custom`. */
  readonly type: string;
  readonly payload: ChangePayload;
}

/** A transaction with its place and time in the history. */
export interface HistoryTransaction extends Transaction {
  /** The id of its record for the first, `<id of the record>.<n>` for the others. */
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
}

/** The transactions of a record. */
export function transactionsOf({ id, at, transactions }: StoredRecord): readonly HistoryTransaction[] {
  return transactions.map((transaction, n) => ({
    ...transaction,
    id: n === 0 ? id : `${id}.${n}`,
    at: transaction.at ?? at,
  }));
}
