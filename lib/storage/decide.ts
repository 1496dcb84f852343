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
import { PartitionQueue, type PartitionQueues } from "./_lane.ts";
import { type AnyRule, PendingDecision } from "./_ticket.ts";
import type { Partition, Read, Store } from "./contract.ts";
import type { Rule } from "./rule.ts";

export { decisionsWaitingMax } from "./_lane.ts";

const lanesOf = new WeakMap<Store, PartitionQueues>();

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
    // Types end here: a lane holds decisions of many kinds, and each gets its own answer.
    const ticket = new PendingDecision(rule as unknown as AnyRule, resolve as (answer: unknown) => void, reject);
    let lanes = lanesOf.get(store);
    if (lanes === undefined) {
      lanes = { store, byPartition: new Map() };
      lanesOf.set(store, lanes);
    }
    const lane = lanes.byPartition.get(partition);
    if (lane === undefined) new PartitionQueue(lanes, partition, ticket);
    else lane.push(ticket);
  });
}

/** The number of partitions of the store for which decisions wait or run in this process. */
export function busyPartitions(store: Store): number {
  return lanesOf.get(store)?.byPartition.size ?? 0;
}
