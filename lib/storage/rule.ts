/**
 * Rules: what a decision reads, and what it makes of it.
 *
 * @module
 */
import type { Read, Results, Version, Write } from "./contract.ts";

/** What a commit did for one decision. */
export interface Committed {
  /** The version of every record that was put, or null where the decision had no writes. */
  readonly version: Version | null;
  /** Per write of the decision, in order: a tally's new value, a resulting score, a log id, else null. */
  readonly results: readonly (number | string | null)[];
}

/** What a rule decided. */
export interface Decision<A> {
  /** Effects, in order; an empty list commits nothing. */
  readonly writes: readonly Write[];
  /** The answer, or how to make it from what the commit did. */
  readonly answer: A | ((committed: Committed) => A);
  /**
   * Commits without checking the records read: for writes whose guards suffice.
   * @default false
   */
  readonly unchecked?: boolean;
  /** Answers, or throws, when a guard refused the commit. @default throws AppError `conflict` */
  readonly refused?: (key: string) => A;
}

/** What to read and what to make of it. */
export interface Rule<Q extends readonly Read[], A> {
  /**
   * All from one instant. The commit checks the records among them, and fields that were looked for with `unseen`; other
   * tallies are held by the bounds of the writes, and
   * what rests on a board or a log must have a record that changes with it.
   */
  readonly reads: Q;
  /**
   * Decides from one instant of the partition. Pure: it may be called many times, and only its last decision counts.
   * What it throws is what `decide` throws.
   */
  apply(state: Results<Q>): Decision<A>;
  /**
   * Whether deciding again after the commit took effect changes nothing more, because `apply` sees the effect. Then
   * an unknown outcome is resolved by deciding again instead of being thrown.
   * @default false
   */
  readonly idempotent?: boolean;
  /**
   * What must have happened elsewhere before the decision may take effect. It goes on beside the read, and where it
   * rejects, `decide` rejects with the same and nothing is written. @default nothing
   */
  readonly ready?: Promise<unknown>;
}
