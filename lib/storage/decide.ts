/**
 * Decisions: the one way in which areas change what is stored.
 *
 * A rule reads, and from what it read says what to write and what to answer. `decide` makes that atomic: every record
 * read is checked by the commit, and a lost check reads and applies anew. Within a process the decisions of one
 * partition queue up, and those that wait are folded into one read and one commit, so that a busy partition costs two
 * round trips per fold instead of two per decision.
 *
 * @module
 */
import { AppError } from "../errors/mod.ts";
import { Lane } from "./_lane.ts";
import type { Waiting } from "./_ticket.ts";
import type { Partition, Read, Results, Store, Version, Write } from "./contract.ts";
import { validateReads } from "./validate.ts";

/** Most decisions that may wait for one partition; one more is refused as `busy`. */
export const decisionsWaitingMax = 4_096;

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
   * All from one instant. The commit checks the records among them; tallies are held by the bounds of the writes, and
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
}

const lanes = new WeakMap<Store, Map<Partition, Lane>>();

/**
 * Decides by the rule, atomically, and returns its answer once its writes are committed.
 *
 * @throws {AppError} `conflict`: other processes won the check `decisionAttemptsMax` times, or a guard refused and the
 *   decision has no `refused`. `busy`: too many decisions wait for this partition. `storage_unavailable`: nothing was
 *   written. `outcome_unknown`: whether it was written is unknown, and the rule is not idempotent.
 */
export function decide<const Q extends readonly Read[], A>(
  store: Store,
  partition: Partition,
  rule: Rule<Q, A>,
): Promise<A> {
  return new Promise<A>((resolve, reject) => {
    validateReads(partition, rule.reads);
    const waiting: Waiting = {
      reads: rule.reads,
      idempotent: rule.idempotent ?? false,
      apply: state => {
        const { writes, answer, unchecked = false, refused } = rule.apply(state as Results<Q>);
        return {
          writes,
          unchecked,
          accept: committed => resolve(isMaker(answer) ? answer(committed) : answer),
          refuse: key => resolve(refused === undefined ? conflict(key) : refused(key)),
        };
      },
      reject,
    };
    laneOf(store, partition).push(waiting);
  });
}

/** The number of partitions of the store for which decisions wait or run in this process. */
export function busyPartitions(store: Store): number {
  return lanes.get(store)?.size ?? 0;
}

function laneOf(store: Store, partition: Partition): Lane {
  let ofStore = lanes.get(store);
  if (ofStore === undefined) {
    ofStore = new Map();
    lanes.set(store, ofStore);
  }
  const found = ofStore.get(partition);
  if (found !== undefined) return found;
  const lane = new Lane({
    store,
    partition,
    waitingMax: decisionsWaitingMax,
    onIdle: () => ofStore.delete(partition),
  });
  ofStore.set(partition, lane);
  return lane;
}

function isMaker<A>(answer: A | ((committed: Committed) => A)): answer is (committed: Committed) => A {
  return typeof answer === "function";
}

function conflict(key: string): never {
  throw new AppError("conflict", `Cannot commit the decision: a bound of ${key} would be exceeded`);
}
