/**
 * Rules: the queries of a decision, and its effect.
 *
 * @module
 */
import type { Read, Results, Version, Write } from "./contract.ts";

/** The effect of a commit for one decision. */
export interface Committed {
  /** Version of every record that was put, or null if the decision had no writes. */
  readonly version: Version | null;
  /** Per write of the decision, in order: a tally's new value, a resulting score, a log id, else null. */
  readonly results: readonly (number | string | null)[];
}

/** The decision of a rule. */
export interface Decision<A> {
  /** Effects, in order; an empty list commits nothing. */
  readonly writes: readonly Write[];
  /** The answer, or a function that makes it from the effect of the commit. */
  readonly answer: A | ((committed: Committed) => A);
  /**
   * Commits without checking the records read: for writes whose guards suffice.
   * @default false
   */
  readonly unchecked?: boolean;
  /** Answers, or throws, when a guard refused the commit. @default throws AppError `conflict` */
  readonly refused?: (key: string) => A;
}

/** The queries of a decision, and the function that decides from their results. */
export interface Rule<Q extends readonly Read[], A> {
  /**
   * Queries, all answered from one instant. The commit checks the records among them, and the fields queried by
   * `onceMark`. Other tallies are protected by the bounds of the writes. A decision that depends on a board or a log
   * needs a record that changes with it.
   */
  readonly reads: Q;
  /**
   * Decides from one instant of the partition. Must be pure: it may be called many times, and only its last decision
   * counts. `decide` throws the errors that it throws.
   */
  apply(state: Results<Q>): Decision<A>;
  /**
   * Set if deciding again after the commit took effect changes nothing more, because `apply` sees the effect. An unknown
   * outcome is then resolved by deciding again instead of being thrown.
   * @default false
   */
  readonly idempotent?: boolean;
  /**
   * Work elsewhere that has to end before the decision may take effect. It runs in parallel with the read. If it
   * rejects, `decide` rejects with the same error and nothing is written. @default nothing
   */
  readonly ready?: Promise<unknown>;
}
