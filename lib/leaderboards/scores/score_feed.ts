/**
 * The port through which what users earn reaches leaderboards. The loyalty area says who has which score as of which
 * revision; what a target is and where its scores are kept is the other side's affair.
 *
 * @module
 */

/** A score that a user now has on a target. Delivering it twice, or after a later one, changes nothing. */
export interface ScoreUpdate {
  readonly target: string;
  readonly score: number;
  /** When the score was reached, Unix ms. */
  readonly at: number;
  /** The revision of the user's state that the score belongs to. */
  readonly asOf: number;
}

/** What an action did to a user's metrics, as targets see it. */
export interface Gain {
  readonly action: string;
  readonly data: Readonly<Record<string, string | number | boolean>>;
  /** Change of each metric that changed. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A board that an action may move. */
export type ScoreTarget =
  /** Shows the value of a metric. */
  | { readonly id: string; readonly kind: "total"; readonly metricId: string }
  /** Sums what single actions add; 0 adds nothing. The sum is kept until `keepUntil` (Unix ms), and for good without it. */
  | {
      readonly id: string;
      readonly kind: "sum";
      readonly amount: (gain: Gain) => number;
      readonly keepUntil?: number;
    };

/** Connects the loyalty of users to leaderboards. */
export interface ScoreFeed {
  /**
   * The targets that an action of a user of the organisation and project (null while none is known) may move; `eventId` as the
   * action's data names it, `at` (Unix ms) when it counts.
   */
  targets(
    projectId: string | null,
    action: {
      readonly organisationId: string;
      readonly action: string;
      readonly eventId: string | null;
      readonly at: number;
    },
  ): readonly ScoreTarget[] | Promise<readonly ScoreTarget[]>;
  /**
   * Takes updates for delivery in the background. Then either `delivered` is called, when all of them have been applied, or
   * `givenUp`, when that is left to a later delivery.
   */
  deliver(userId: string, updates: readonly ScoreUpdate[], delivered: () => void, givenUp?: () => void): void;
}
