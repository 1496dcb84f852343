/**
 * What is kept of a user's loyalty.
 *
 * @module
 */

import type { ScoreUpdate } from "../../leaderboards/scores/score_feed.ts";
import type { Lot } from "../ledger/mod.ts";
import type { Redemption } from "./redemption.ts";

/** Progress of one challenge in its latest run. */
export interface ChallengeProgress {
  /** `none`: the run is over, and the next one has not begun. */
  readonly status: "none" | "in_progress" | "completed" | "failed";
  /** Which run it is: the id of the calendar period, or a number counted from 1. */
  readonly run: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** When time ends it, Unix ms, exclusive: it then fails, or may begin anew. Null: never. */
  readonly endsAt: number | null;
  /** When it was completed or failed, Unix ms; null while it is in progress. */
  readonly endedAt: number | null;
  /** What has counted for each mission, by mission id. */
  readonly counts: Readonly<Record<string, number>>;
  readonly missionsCompleted: readonly string[];
  /** How many runs were completed, this one included. */
  readonly completions: number;
}

/** The highest rung of a ladder that was reached. */
export interface MilestoneProgress {
  readonly milestoneId: string;
  /** Its threshold when it was reached: rungs up to there are reached no more, whatever becomes of the ladder. */
  readonly threshold: number;
}

/** A coupon that a user was given. */
export interface UserCoupon {
  readonly id: string;
  readonly couponId: string;
  /** Null while no code of the pool has been claimed for it. */
  readonly code: string | null;
  /** Unix ms. */
  readonly receivedAt: number;
  /** Unix ms, exclusive; null: never. */
  readonly expiresAt: number | null;
}

/** What has been counted of actions, as far back as the configuration looks. */
export type Counter =
  /** A count or sum over all time. */
  | { readonly total: number }
  /** By bucket, ascending; those that left the window are dropped. */
  | { readonly buckets: readonly (readonly [bucket: number, amount: number])[] }
  /** Consecutive buckets with an action up to the last one. */
  | { readonly last: number; readonly length: number };

/**
 * All that was credited, and all that left otherwise than by expiring. What was taken back, by a reversal or a correction, counts in
 * neither, so that earned less spent less expired is what a metric has gained. So more may have been taken back than was earned.
 */
export type LifetimeTotals = readonly [earned: number, spent: number];

/** What single actions have added up to for a board. */
export type RunningSum =
  | readonly [total: number]
  /** Beyond that time, Unix ms, nothing is added any more. */
  | readonly [total: number, keepUntil: number];

/** The loyalty of one user: one record, changed only through `decide`. */
export interface UserState {
  /** Number of changes so far; a later state has a higher one. */
  readonly revision: number;
  /** When the last happening counted for, in Unix ms. */
  readonly changedAt: number;
  /** The version of the configuration that decided last. */
  readonly config: string;
  /** The project whose boards the user's metrics feed; null while none is known. */
  readonly projectId: string | null;
  /** Values of the metrics that have ever changed: what can be used now. */
  readonly metrics: Readonly<Record<string, number>>;
  /** What was ever earned and spent of the metrics that have changed by anything but time. */
  readonly lifetime: Readonly<Record<string, LifetimeTotals>>;
  /** The lots of metrics that keep them. */
  readonly lots: Readonly<Record<string, readonly Lot[]>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  /** By id of the ladder. */
  readonly milestones: Readonly<Record<string, MilestoneProgress>>;
  readonly challenges: Readonly<Record<string, ChallengeProgress>>;
  readonly coupons: readonly UserCoupon[];
  /** By the key that the configuration's aggregates and limits have. */
  readonly counters: Readonly<Record<string, Counter>>;
  /** Since when (Unix ms) no configuration has named some of those keys. */
  readonly orphanedCounters: Readonly<Record<string, number>>;
  /** When time alone may next change something, in Unix ms; null: never. Never too late, but it may be too early. */
  readonly dueAt: number | null;
  /** In how many settlements since anything else happened rules gave points that time changes again. */
  readonly chainedExpiries: number;
  /** Number of history records ever written. */
  readonly records: number;
  /** Redemptions that somebody has to go on with: whose stock is to be taken, or given back. */
  readonly redemptions: readonly Redemption[];
  /** Board scores whose delivery has not been confirmed. */
  readonly undelivered: readonly ScoreUpdate[];
  /** By the short name of a board. */
  readonly sums: Readonly<Record<string, RunningSum>>;
  /** How many action ids the newest generation of seen ids holds. */
  readonly onceMarks: { readonly generation: number; readonly count: number };
}

/** The state of a user who has not done anything. */
export function emptyState(projectId: string | null): UserState {
  return {
    revision: 0,
    changedAt: 0,
    config: "",
    projectId,
    metrics: {},
    lifetime: {},
    lots: {},
    inventory: {},
    milestones: {},
    challenges: {},
    coupons: [],
    counters: {},
    orphanedCounters: {},
    dueAt: null,
    chainedExpiries: 0,
    records: 0,
    redemptions: [],
    undelivered: [],
    sums: {},
    onceMarks: { generation: 0, count: 0 },
  };
}

/**
 * A state with what decisions add to it beside the effects. Written out: copying a state member by member would be the
 * most expensive step of an action.
 */
export function withBookkeeping(
  state: UserState,
  {
    projectId,
    undelivered,
    sums,
    onceMarks,
  }: Pick<UserState, "projectId" | "undelivered" | "sums" | "onceMarks">,
): UserState {
  return {
    revision: state.revision,
    changedAt: state.changedAt,
    config: state.config,
    projectId,
    metrics: state.metrics,
    lifetime: state.lifetime,
    lots: state.lots,
    inventory: state.inventory,
    milestones: state.milestones,
    challenges: state.challenges,
    coupons: state.coupons,
    counters: state.counters,
    orphanedCounters: state.orphanedCounters,
    dueAt: state.dueAt,
    chainedExpiries: state.chainedExpiries,
    records: state.records,
    redemptions: state.redemptions,
    undelivered,
    sums,
    onceMarks,
  };
}

/** When settling next has something to do, in Unix ms; null: never. Settling earlier, or for nothing, is harmless. */
export function nextDue({ dueAt }: UserState): number | null {
  return dueAt;
}
