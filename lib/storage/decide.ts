/**
 * Decisions: the one way in which areas change what is stored.
 *
 * A rule reads, and returns what to write and what to answer. `decide` makes that atomic: the commit checks every record
 * that was read, and after a lost check the rule reads and applies anew. Within a process the decisions of a partition
 * queue up, and those that wait share one read and one commit. A busy partition therefore costs two round trips per
 * batch and not per decision.
 *
 * @module
 */
import type { Partition, Read, Store } from "./contract.ts";
import { type AnyRule, PendingDecision } from "./decision_batch.ts";
import { PartitionQueue, type PartitionQueues } from "./partition_queue.ts";
import type { Rule } from "./rule.ts";

const queuesOf = new WeakMap<Store, PartitionQueues>();

/**
 * Decides by the rule, atomically, and returns its answer once its writes are committed.
 *
 * @throws {AppError} `conflict`: other processes won the check 50 times, or a guard refused and the decision has no
 *   `refused`. `busy`: too many decisions wait for this partition. `storage_unavailable`: nothing was written.
 *   `outcome_unknown`: it is unknown whether the decision was written, and the rule is not idempotent.
 */
export function decide<const Q extends readonly Read[], A>(
  store: Store,
  partition: Partition,
  rule: Rule<Q, A>,
): Promise<A> {
  return new Promise<A>((resolve, reject) => {
    // Types end here: a queue holds decisions of many kinds, and each gets its own answer.
    const decision = new PendingDecision(
      rule as unknown as AnyRule,
      resolve as (answer: unknown) => void,
      reject,
    );
    let queues = queuesOf.get(store);
    if (queues === undefined) {
      queues = { store, byPartition: new Map() };
      queuesOf.set(store, queues);
    }
    const queue = queues.byPartition.get(partition);
    if (queue === undefined) new PartitionQueue(queues, partition, decision);
    else queue.push(decision);
  });
}

/** Returns the number of partitions of the store for which decisions wait or run in this process. */
export function busyPartitions(store: Store): number {
  return queuesOf.get(store)?.byPartition.size ?? 0;
}
