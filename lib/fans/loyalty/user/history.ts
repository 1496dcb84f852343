/** The history of a user: one record for each event, from which transactions, ledger and replays are read. */

import type * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import type { ActionData, MetricReward, NotificationSetting, Price, Reward } from "../config/document.ts";
import type { transactionTypes } from "../config/parts.ts";
import type { LedgerEntry } from "../ledger/movements.ts";
import type { ElementFacts } from "../votes/elements.ts";
import type { ChangePayload, TransactionSchema } from "./change_payload.ts";
import type { ProfileFields, UserState } from "./state.ts";

/** A correction of a metric by a back end. */
export interface MetricChange {
  readonly metricId: string;
  /** `set` to the value, or add the value with `incr`. */
  readonly op: "set" | "incr";
  /** A safe integer; `incr` takes where it is negative. */
  readonly value: number;
}

/** When granted points become usable and expire, in Unix ms. The policy of the metric decides what is omitted. */
export interface PointDates {
  readonly availableAt?: number | undefined;
  /** Exclusive. */
  readonly expiresAt?: number | undefined;
}

const tenYearsMs = 3_653 * 86_400_000;

/** Checks the dates of points that are granted now (Unix ms). */
export function pointDateErrors({ availableAt, expiresAt }: PointDates, now: number) {
  const latest = now + tenYearsMs;
  const errors: { readonly member: keyof PointDates; readonly detail: string }[] = [];
  if (availableAt !== undefined && !(availableAt <= latest)) {
    errors.push({ member: "availableAt", detail: "Expected a time within ten years" });
  }
  const from = Math.max(now, availableAt ?? now);
  if (expiresAt !== undefined && !(expiresAt > from && expiresAt <= latest)) {
    const detail = "Expected a time within ten years, later than now and than availableAt";
    errors.push({ member: "expiresAt", detail });
  }
  return errors;
}

/** A reward that a back end grants, with dates of its own where it has points. */
export type GrantedReward = Exclude<Reward, { readonly type: "metric" }> | (MetricReward & PointDates);

export interface Inheritance extends Pick<UserState, "milestones" | "challenges" | "coupons"> {
  readonly from: string;
  /** What the user had earned and spent beyond the points that go over, by metric. @default nothing */
  readonly lifetime?: UserState["lifetime"];
}

/** The rules that a global limit kept from firing, with the number of times that they had fired before in the same event. */
export interface LimitedFirings {
  readonly limited?: Readonly<Record<string, number>> | undefined;
}

/** The key of a mission, its run, and the amount that an action added. */
export type MissionAdvance = readonly [mission: string, run: string, amount: number];

/** An event of a user. Actions without effects have a record too. */
export interface HistoryRecord {
  readonly kind: "action" | "settlement" | "grant" | "adjustment" | "reversal" | "redemption" | "refusal";
  /** Unix ms; never before the previous record. */
  readonly at: number;
  /** The version of the configuration that decided. */
  readonly config: string;
  readonly action?: LimitedFirings & {
    readonly name: string;
    readonly data: ActionData;
    /** The event that the data name by an alias, if it had boards then. */
    readonly eventId?: string;
    readonly id?: string | undefined;
    /** When it happened, Unix ms. @default the time of the record */
    readonly at?: number | undefined;
    /** Notes of the back end that reported it. */
    readonly metadata?: Readonly<Record<string, unknown>> | undefined;
    /** What rules could read of the element that it names. */
    readonly element?: ElementFacts | undefined;
    /** Set where the action counted before, and what depended on the answer of its element applied now. */
    readonly isReveal?: true | undefined;
    /** The rules that fired, in the order of their transactions, where one of them has limits or caps. */
    readonly fired?: readonly string[] | undefined;
    readonly advanced?: readonly MissionAdvance[] | undefined;
  };
  readonly grant?: LimitedFirings & {
    readonly rewards: readonly GrantedReward[];
    readonly reason: string;
    readonly id?: string | undefined;
    readonly inheritance?: Inheritance | undefined;
  };
  readonly adjustment?: LimitedFirings & {
    readonly changes: readonly MetricChange[];
    readonly reason: string;
    /** The id of the update that made it. */
    readonly id?: string | undefined;
  };
  /** The id of the reversed transaction. */
  readonly reversalOf?: string;
  /** The action of the reversed transaction, as boards counted what it gave. */
  readonly reversed?:
    | {
        /** Unix ms. */
        readonly at: number;
        readonly data: ActionData;
      }
    | undefined;
  readonly redemption?: RedemptionFact;
  /** The custom fields of the user's profile that the configuration read and that had a value. */
  readonly profile?: ProfileFields;
  /** The first instant (Unix ms) of a settlement that merged several. */
  readonly mergedFrom?: number;
  readonly transactions: readonly Transaction[];
}

/**
 * The progress of a redemption. `reserved`: paid, but not delivered; `sold`: paid and delivered at once; `confirmed`: delivered;
 * `rejected`: the price given back instead; `completed`: handed over by an operator; `refunded`: the price given back by one.
 */
export type RedemptionStep = "reserved" | "sold" | "confirmed" | "rejected" | "completed" | "refunded";

/** A step of a redemption with its results, so that a replay decides nothing anew. */
export interface RedemptionFact extends LimitedFirings {
  readonly id: string;
  readonly step: RedemptionStep;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: Price;
  /** Unix ms for which the redemption counts. */
  readonly boughtAt: number;
  /** The delivered rewards, with `confirmed` and `sold`. */
  readonly given?: readonly Reward[];
  /** Unix ms at which a delivered coupon expires whose code was handed out before; null: never. */
  readonly couponExpiresAt?: number | null;
}

/** Returns the id of an entry of the ledger: that of its transaction for the first, and `<id of the transaction>~<n>` for others. */
export function entryId(transactionId: string, index: number): string {
  return index === 0 ? transactionId : `${transactionId}~${index}`;
}

export function parseEntryId(id: string): { readonly transactionId: string; readonly index: number } {
  const [, transactionId = id, index = "0"] = /^(.*)~([1-9]\d{0,8})$/.exec(id) ?? [];
  return { transactionId, index: Number(index) };
}

/** Returns the data of an action with the event that boards counted it for; without one where only an alias names it. */
export function scoredData({ data, eventId }: NonNullable<HistoryRecord["action"]>): ActionData {
  if (eventId !== undefined) return { ...data, eventId };
  const { eventId: named, ...others } = data;
  return typeof named === "string" && isUuid(named) ? data : others;
}

export interface HistoryEntry extends HistoryRecord {
  /** Id of the log entry, and of the record's first transaction. */
  readonly id: string;
}

/** A type of transaction. More may be added. */
export type TransactionType = (typeof transactionTypes)[number];

/** A part of an event as the history shows it, with its entries in the ledger. */
export interface Transaction {
  readonly type: string;
  /** Unix ms, where it differs from the time of its record. */
  readonly at?: number;
  readonly payload: ChangePayload;
  readonly entries: readonly LedgerEntry[];
}

export interface Notification extends NotificationSetting {
  /** The type of its transaction, or `custom`. */
  readonly type: string;
  readonly payload: ChangePayload;
}

/** A transaction with its id and time in the history, and what is known of the action that caused it. */
export interface HistoryTransaction extends Transaction {
  /** The id of its record for the first, `<id of the record>.<n>` for the others. */
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  /** When its action happened, Unix ms. */
  readonly happenedAt?: number | undefined;
  readonly actionId?: string | undefined;
  /** Of its action, or of a grant or redemption. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export function transactionsOf(record: HistoryEntry): readonly HistoryTransaction[] {
  const { id, at, action, transactions } = record;
  const caused =
    action === undefined
      ? undefined
      : { happenedAt: action.at ?? at, actionId: action.id, metadata: action.metadata };
  return transactions.map((transaction, n) => ({
    ...transaction,
    id: n === 0 ? id : `${id}.${n}`,
    at: transaction.at ?? at,
    ...(caused ?? { metadata: transaction.payload.metadata }),
  }));
}

/** A transaction as the API shows it. */
export type TransactionView = Immutable<v.InferOutput<typeof TransactionSchema>>;

export function transactionView(transaction: HistoryTransaction): TransactionView {
  const { id, at, type, payload, happenedAt, actionId, metadata } = transaction;
  return {
    id,
    timestamp: Math.floor(at / 1_000),
    type,
    payload,
    ...(happenedAt === undefined ? {} : { happenedAt: Math.floor(happenedAt / 1_000) }),
    ...(actionId === undefined ? {} : { actionId }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
