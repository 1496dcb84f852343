/**
 * What the audience API asks of loyalty in order to show users. Times are Unix ms.
 *
 * @module
 */

import type { ReadRecord, Stored, Write } from "../storage/mod.ts";
import type { AudienceMember } from "./member.ts";

/** How far something is along: `percent` is a whole number from 0 to 100. */
export interface Progress {
  readonly current: number;
  readonly target: number;
  readonly percent: number;
}

/** A challenge as its user sees it. */
export interface SeenChallenge {
  readonly challenge: {
    readonly id: string;
    readonly title: string;
    readonly subtitle: string;
    readonly media: string;
    readonly rewards: readonly unknown[];
  };
  readonly status: "not_started" | "in_progress" | "completed" | "failed";
  readonly progress: Progress;
  readonly missions: readonly {
    readonly mission: { readonly id: string; readonly title: string; readonly type: string };
    readonly status: string;
    readonly progress: Progress;
  }[];
  readonly startsAt: number | null;
  readonly endsAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly failedAt: number | null;
  readonly period: string | null;
}

/** A user's loyalty at a glance. */
export interface SeenLoyalty {
  readonly metrics: Readonly<Record<string, number>>;
  readonly balances: Readonly<
    Record<
      string,
      {
        readonly available: number;
        readonly pending: number;
        readonly expiringSoon: readonly { readonly amount: number; readonly expiresAt: number }[];
        readonly lifetimeEarned: number;
        readonly lifetimeSpent: number;
      }
    >
  >;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly tier: { readonly id: string; readonly name: string; readonly progress: Progress | null } | null;
  readonly activeChallenges: readonly SeenChallenge[];
  readonly unreadNotifications: number;
}

/** What was seen, and a record of the user's partition at the same instant. */
export interface Seen<T> {
  readonly view: T;
  /** Whether there is anything on record of the user's loyalty. */
  readonly isKnown: boolean;
  readonly extraRecord: Stored | null;
}

/** An entry of the ledger with where it comes from. */
export interface SeenEntry {
  readonly id: string;
  readonly at: number;
  readonly entry: {
    readonly metricId: string;
    readonly type: "credit" | "debit";
    readonly amount: number;
    readonly balanceAfter: number;
    readonly status: "completed" | "pending" | "expired";
    readonly lot?: { readonly activatesAt: number; readonly expiresAt: number | null };
  };
  readonly transaction: {
    readonly type: string;
    readonly payload: {
      readonly challengeId?: string;
      readonly reason?: string;
      readonly redemptionId?: string;
      readonly metadata?: Readonly<Record<string, unknown>>;
      readonly milestoneChanges: Readonly<Record<string, unknown>>;
    };
  };
  readonly record: {
    readonly action?: { readonly name: string; readonly data: Readonly<Record<string, unknown>> };
    readonly grant?: { readonly id?: string };
    readonly reversalOf?: string;
  };
  readonly isReversed: boolean;
}

/** Where a page of the ledger ends. */
export interface LedgerEnd {
  readonly recordId: string;
  readonly taken: number;
}

/** A change of a metric by a back end. */
export interface MetricChange {
  readonly metricId: string;
  readonly op: "set" | "incr";
  readonly value: number;
}

/** Looks at users and corrects their metrics. */
export interface LoyaltySight {
  readonly reader: {
    /** For each id whether an action has taken effect under it within the last week. */
    areActionsApplied(member: AudienceMember, actionIds: readonly string[]): Promise<readonly boolean[]>;
    /** The user's loyalty at a glance. */
    summary(member: AudienceMember, beside: ReadRecord): Promise<Seen<SeenLoyalty>>;
    /** The challenges that the user has to do with. */
    challenges(member: AudienceMember, beside: ReadRecord): Promise<Seen<readonly SeenChallenge[]>>;
    /** A page of the ledger, newest entry first; an `end` of null: there is nothing beyond. */
    ledger(
      member: AudienceMember,
      query: {
        readonly limit: number;
        readonly type?: "credit" | "debit" | undefined;
        readonly metricId?: string | undefined;
        readonly after?: LedgerEnd | undefined;
      },
    ): Promise<{ readonly items: readonly SeenEntry[]; readonly end: LedgerEnd | null }>;
  };
  /** Corrects metrics together with a record of the user's partition; the id of the transaction, null where there is none. */
  adjust(
    member: AudienceMember,
    order: {
      readonly changes: readonly MetricChange[];
      readonly reason: string;
      readonly extraRecord: {
        readonly read: ReadRecord;
        readonly write: (stored: Stored | null) => Write | null;
      };
    },
  ): Promise<string | null>;
  /** Lists a user among those of the organisation. */
  register(member: AudienceMember): Promise<void>;
}
