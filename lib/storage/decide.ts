/**
 * Decisions: the one way in which areas change what is stored.
 *
 * A rule reads, and returns what to write and what to answer. `decide` makes that atomic: the commit checks every record
 * that was read, and after a lost check the rule reads and applies anew. Within a process the decisions of a partition
 * queue up, and those that wait share one read and one commit. A busy partition therefore costs two round trips per
 * batch and not per decision.
 */

import { AppError, isOutcomeUnknown } from "../base/errors/mod.ts";
import type { Check, Commit, Partition, Read, Store, Stored, Write } from "./contract.ts";
import {
  type AnyRule,
  type BatchedDecision,
  type Decision,
  DecisionBatch,
  nothingCommitted,
  PendingDecision,
  ReadPlan,
  type Rule,
} from "./decision_batch.ts";
import {
  absenceCheck,
  compareRead,
  isOnceMarkRead,
  keepWritten,
  plainWrites,
  recall,
  recordHits,
} from "./record_cache.ts";

/** Awaited where work goes on in the same turn of the event loop. Awaiting `null` would make another promise each time. */
const sameTurn: Promise<void> = Promise.resolve();

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

/** Most decisions of one round: bounds how long the first of them waits for the last. */
const roundMax = 256;

/** Most decisions that may wait for one partition; one more is refused as `busy`. */
const decisionsWaitingMax = 4_096;

interface PartitionQueues {
  readonly store: Store;
  readonly byPartition: Map<Partition, PartitionQueue>;
}

/**
 * A queue that runs until it is empty and then removes itself. A failed commit says only in part which decision caused it. A lost
 * check counts against the decisions that read the record. After a refused guard the next round first reads the suspects' tallies,
 * so that it can foresee refusals without a commit each; a suspect that is refused again commits alone. If the store throws at a
 * batch because of misuse, every decision commits alone.
 */
class PartitionQueue {
  readonly #queues: PartitionQueues;
  readonly #store: Store;
  readonly #partition: Partition;
  readonly #waiting: PendingDecision[];
  #hasRecalled = false;

  /** Opens the queue of a partition that has none, with its first decision. */
  constructor(queues: PartitionQueues, partition: Partition, first: PendingDecision) {
    this.#queues = queues;
    this.#store = queues.store;
    this.#partition = partition;
    this.#waiting = [first];
    queues.byPartition.set(partition, this);
    void this.#drain();
  }

  /** Adds a further decision, or rejects it as `busy`. */
  push(decision: PendingDecision): void {
    if (this.#waiting.length < decisionsWaitingMax) {
      this.#waiting.push(decision);
      return;
    }
    const message = `Cannot take the decision: ${decisionsWaitingMax} wait for its partition`;
    decision.fail(new AppError("busy", message, { retryAfterMs: 1_000 }));
  }

  /** Runs the rounds. A decision alone stays in this asynchronous function: each further one would cost as much again. */
  async #drain(): Promise<void> {
    // Decisions of the same turn of the event loop share the first round.
    await sameTurn;
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const plan = this.#waiting.length === 1 && first.suspected === null ? null : new ReadPlan();
      const round = plan === null ? [first] : this.#pick(plan);
      try {
        if (plan !== null) {
          await this.#runBatch(round, plan);
        } else {
          const { reads, ready } = first.rule;
          const recalled = this.#recall(first.mustRead, reads);
          const state = recalled ?? (await this.#read(reads));
          if (ready !== undefined) await whenReady(round);
          const decided = first.done ? null : applyRule(first, state, recalled !== null);
          if (decided !== null) {
            const commit = await this.#commitAlone(decided, reads, state);
            if (recalled !== null) recordHits(this.#partition, reads, isCurrent(reads, commit));
            this.#answerAlone(first, decided, commit);
          }
          // A caller that decides again at once still finds this queue, which knows that it has decided from the cache.
          await sameTurn;
        }
      } catch (error) {
        failRound(round, error);
      }
      if (plan !== null) this.#waiting.splice(0, round.length, ...round.filter(({ done }) => !done));
      else if (first.done) this.#waiting.shift();
    }
    this.#queues.byPartition.delete(this.#partition);
  }

  /** Commits what a {@linkcode DecisionBatch} of one decision would, without the work that only several need. */
  #commitAlone(
    { writes }: Decision<unknown>,
    reads: readonly Read[],
    state: readonly unknown[],
  ): Promise<Commit> {
    return this.#store.commit(this.#partition, {
      checks: checksOf(reads, state),
      writes: plainWrites(writes),
    });
  }

  #answerAlone(pending: PendingDecision, decided: Decision<unknown>, commit: Commit): void {
    if (commit.ok) {
      keepWritten(this.#partition, decided.writes, commit.version);
      pending.accept(decided, commit);
    } else if (commit.because === "guard") {
      pending.refuse(decided, commit.key);
    } else {
      pending.loseCheck(commit.key);
    }
  }

  /**
   * Returns the results of the queries from caches, or null if the store must be read. Never twice in a row: a process
   * that decides without reading commits twice as often as processes that must read first, and on a busy partition
   * those would lose every race.
   */
  #recall(mustRead: boolean, queries: readonly Read[]): readonly unknown[] | null {
    const recalled = mustRead || this.#hasRecalled ? null : recall(this.#partition, queries);
    this.#hasRecalled = recalled !== null;
    return recalled;
  }

  async #read(queries: readonly Read[]): Promise<readonly unknown[]> {
    if (queries.length === 0) return [];
    const results = await this.#store.read(this.#partition, queries);
    compareRead(this.#partition, queries, results);
    return results;
  }

  #pick(plan: ReadPlan): PendingDecision[] {
    const round: PendingDecision[] = [];
    for (const decision of this.#waiting) {
      if (round.length >= roundMax || (decision.runsAlone && round.length > 0) || !plan.add(decision)) break;
      round.push(decision);
      if (decision.runsAlone) break;
    }
    return round;
  }

  async #runBatch(round: readonly PendingDecision[], plan: ReadPlan): Promise<void> {
    const store = this.#store;
    const partition = this.#partition;
    const mustRead = round.some(decision => decision.mustRead);
    const recalled = this.#recall(mustRead, plan.queries);
    const results = recalled ?? (await this.#read(plan.queries));
    if (round.some(({ rule }) => rule.ready !== undefined)) await whenReady(round);
    const batch = new DecisionBatch(store.traits, plan.forecast(results), recalled !== null);
    for (const decision of round) {
      if (!decision.done && !batch.add(decision, plan.stateOf(decision, results))) break;
    }
    const { members } = batch;
    if (members.length === 0) return;
    let commit: Commit;
    try {
      commit = await batch.commit(store, partition);
    } catch (error) {
      const decisions = members.map(({ pending }) => pending);
      failRound(decisions, error);
      return;
    }
    if (recalled !== null) recordHits(partition, plan.queries, isCurrent(plan.queries, commit));
    if (commit.ok) batch.accept(partition, commit);
    else if (commit.because === "check") loseCheck(members, commit.key);
    else refuseGuard(members, commit.key);
  }
}

/** Waits until the decisions are ready, and rejects those whose `ready` rejects. */
async function whenReady(round: readonly PendingDecision[]): Promise<void> {
  for (const decision of round) {
    try {
      await decision.rule.ready;
    } catch (error) {
      decision.throw(error);
    }
  }
}

/**
 * Applies the rule of a decision. Returns null if there is nothing to commit: the decision is answered, or must be made
 * again from the store because no commit would check the recalled state.
 */
function applyRule(
  pending: PendingDecision,
  state: readonly unknown[],
  isRecalled: boolean,
): Decision<unknown> | null {
  let decided: Decision<unknown>;
  try {
    decided = pending.rule.apply(state as never);
  } catch (error) {
    if (isRecalled) pending.mustRead = true;
    else pending.throw(error);
    return null;
  }
  if (isRecalled && decided.writes.length === 0) pending.mustRead = true;
  else if (decided.writes.length > 0) return decided;
  else pending.accept(decided, nothingCommitted);
  return null;
}

/** Returns true if a commit found the records as they were read: checks come before guards. */
function isCurrent(reads: readonly Read[], commit: Commit): boolean {
  if (commit.ok || commit.because === "guard") return true;
  return !reads.some(({ type, key }) => type === "record" && key === commit.key);
}

/** Returns the checks of a decision: versions of the records that it read, each once, and fields that were absent. */
function checksOf(reads: readonly Read[], state: readonly unknown[]): Check[] {
  const checks = reads.map((query, index) => checkOf(query, state[index]));
  return checks.every(isFirst) ? checks : checks.filter(isFirst);
}

function checkOf(query: Read, read: unknown): Check | null {
  if (isOnceMarkRead(query)) return absenceCheck(query, read);
  if (query.type !== "record") return null;
  const stored = read as Stored | null;
  return { key: query.key, version: stored === null ? null : stored.version };
}

/** Returns true for a check that no earlier one about the same record makes needless. */
function isFirst(check: Check | null, index: number, all: readonly (Check | null)[]): check is Check {
  if (check === null || "absent" in check) return check !== null;
  for (let before = 0; before < index; before++) {
    const other = all[before];
    if (other?.key === check.key && !("absent" in other)) return false;
  }
  return true;
}

/** Applies an error of the store to the decisions whose round it ended. */
function failRound(decisions: readonly PendingDecision[], error: unknown): void {
  const open = decisions.filter(({ done }) => !done);
  if (!(error instanceof AppError) && open.length > 1) {
    for (const decision of open) decision.runsAlone = true;
    return;
  }
  for (const decision of open) {
    if (isOutcomeUnknown(error)) decision.loseOutcome(error);
    else decision.fail(error);
  }
}

function loseCheck(members: readonly BatchedDecision[], key: string): void {
  const losers = culprits(members, ({ checked }) => checked.includes(key));
  for (const { pending } of losers) pending.loseCheck(key);
}

function refuseGuard(members: readonly BatchedDecision[], key: string): void {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0) {
    only.pending.refuse(only.decided, key);
    return;
  }
  for (const { pending, decided } of culprits(members, ({ decided }) => decided.writes.some(isSuspect))) {
    pending.runsAlone = pending.suspected !== null;
    pending.suspected = decided.writes;
  }
  function isSuspect(write: Write): boolean {
    return write.key === key && (write.type === "add" || write.type === "score");
  }
}

/** Returns the decisions that touched the failing key, or all of them if none did, so that every round makes progress. */
function culprits(
  members: readonly BatchedDecision[],
  touchesKey: (member: BatchedDecision) => boolean,
): readonly BatchedDecision[] {
  const found = members.filter(touchesKey);
  return found.length > 0 ? found : members;
}
