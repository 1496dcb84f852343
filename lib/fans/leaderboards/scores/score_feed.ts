/**
 * The interface through which users' actions reach leaderboards. Loyalty says which score a user has as of which revision;
 * leaderboards say what a target is and where its scores are stored.
 *
 * @module
 */

import type { Store } from "../../../storage/mod.ts";
import type { ScoredAction } from "../settings/score_condition.ts";

/** A user's new score on a target. Delivering it twice, or after a later one, changes nothing. */
export interface ScoreUpdate {
  readonly target: string;
  readonly score: number;
  /** When the score was reached, Unix ms. */
  readonly at: number;
  /** The revision of the user's state that the score belongs to. */
  readonly asOf: number;
}

/** A score without its target. */
export type RecordedScore = Omit<ScoreUpdate, "target">;

/** The changes of a user's metrics by one action. */
export interface Gain extends ScoredAction {
  readonly action: string;
  /** Change of each metric that changed. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A board that an action may change. */
export type ScoreTarget =
  /** Shows the value of a metric. */
  | { readonly id: string; readonly kind: "total"; readonly metricId: string }
  /** Sums an amount per action. The sum is kept until `keepUntil`, scores are taken until `closesAt` (Unix ms); both for good without it. */
  | {
      readonly id: string;
      readonly kind: "sum";
      readonly amount: (gain: Gain) => number;
      /** The event of the board. @default a board of the project */
      readonly eventId?: string;
      readonly keepUntil?: number;
      readonly closesAt?: number;
    };

/** An action whose targets are asked for. */
export interface TargetQuery {
  readonly action: string;
  /** The `eventId` in the action's data, if it is a string. */
  readonly eventId: string | null;
  /** When the action counts, Unix ms: it changes the seasons of that time. */
  readonly at: number;
}

/** What a user's record is asked for: the value of a metric, or the sum kept for a target. */
export type RecordedTarget = { readonly projectId: string; readonly userId: string } & (
  | { readonly id: string; readonly kind: "total"; readonly metricId: string }
  | { readonly id: string; readonly kind: "sum" }
);

/** Reads the score that a user's record has now; null where it says nothing of the target. */
export type ReadRecordedScore = (
  store: Store,
  organisationId: string,
  target: RecordedTarget,
) => Promise<RecordedScore | null>;

/** A gain with its time. */
export interface Earning {
  readonly gain: Gain;
  /** Unix ms. */
  readonly at: number;
}

/** The recorded gains of a user. */
export interface UserEarnings {
  /** The project whose boards the user is on; null where none is known. */
  readonly projectId: string | null;
  /** The revision of the user's state that all of it belongs to. */
  readonly revision: number;
  /** When the state last changed, Unix ms. */
  readonly changedAt: number;
  /** The value of every metric that has ever changed. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Oldest first. The oldest may no longer be recorded. */
  readonly earnings: readonly Earning[];
}

/** The running sum of a target, as recorded earnings give it. */
export interface RecountedSum {
  /** The id of the target. */
  readonly id: string;
  /** Computes the sum of a user; null where nothing counts. */
  readonly sumOf: (user: UserEarnings) => { readonly total: number; readonly keepUntil?: number } | null;
}
