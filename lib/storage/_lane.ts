/**
 * The decisions of one partition, one round after the other: read for those that wait, fold them, commit.
 *
 * Only the round's own failure tells who is at fault, and only in part. A lost check counts against those that relied
 * on the record. A refused guard first makes the suspects' tallies part of the next read, so that the refused are
 * found without a commit each; whoever is refused again goes alone, and then the answer is its own. Misuse that the
 * store throws at a fold is found by letting each go alone.
 *
 * @module
 */
import { AppError } from "../errors/mod.ts";
import { DecisionBatch, type BatchedDecision, isChecked, nothingCommitted } from "./_fold.ts";
import { compareRead, judgeRecalled, keepWritten, plainWrites, recall } from "./_held.ts";
import { ReadPlan } from "./_read_plan.ts";
import type { PendingDecision } from "./_ticket.ts";
import type { Check, Commit, Partition, Read, Store, Stored, Write } from "./contract.ts";
import type { Decision } from "./rule.ts";
import { isOnceMarkRead, absenceCheck } from "./unseen.ts";

/** Most decisions of one round: bounds how long the first of them waits for the last. */
export const foldMax = 256;

/** Most decisions that may wait for one partition; one more is refused as `busy`. */
export const decisionsWaitingMax = 4_096;

/** Where decisions go, and the partitions that have any. */
export interface PartitionQueues {
  readonly store: Store;
  readonly byPartition: Map<Partition, PartitionQueue>;
}

/** A queue of decisions that empties itself, and then is gone. */
export class PartitionQueue {
  readonly #lanes: PartitionQueues;
  readonly #store: Store;
  readonly #partition: Partition;
  readonly #queue: PendingDecision[];
  #hasRecalled = false;

  /** Opens the lane of a partition that has none, with its first decision. */
  constructor(lanes: PartitionQueues, partition: Partition, first: PendingDecision) {
    this.#lanes = lanes;
    this.#store = lanes.store;
    this.#partition = partition;
    this.#queue = [first];
    lanes.byPartition.set(partition, this);
    void this.#drain();
  }

  /** Takes a further decision in, or rejects it as `busy`. */
  push(ticket: PendingDecision): void {
    if (this.#queue.length < decisionsWaitingMax) {
      this.#queue.push(ticket);
      return;
    }
    const message = `Cannot take the decision: ${decisionsWaitingMax} wait for its partition`;
    ticket.fail(new AppError("busy", message, { retryAfterMs: 1_000 }));
  }

  /** What one decision alone needs is in this asynchronous function too: a further one would cost it as much again. */
  async #drain(): Promise<void> {
    // Decisions of the same turn of the event loop meet in the first round.
    await null;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const plan = this.#queue.length === 1 && first.suspected === null ? null : new ReadPlan();
      const round = plan === null ? [first] : this.#pick(plan);
      try {
        if (plan !== null) {
          await this.#together(round, plan);
        } else {
          const { reads, ready } = first.rule;
          const recalled = this.#recall(first.mustRead, reads);
          const state = recalled ?? (await this.#read(reads));
          if (ready !== undefined) await whenReady(round);
          const decided = first.done ? null : decide(first, state, recalled !== null);
          if (decided !== null) {
            const commit = await this.#commitAlone(decided, reads, state);
            if (recalled !== null) judgeRecalled(this.#partition, reads, isCurrent(reads, commit));
            this.#settleAlone(first, decided, commit);
          }
          // Whoever decides again at once still finds this lane, which knows that it has decided from memory.
          await null;
        }
      } catch (error) {
        failed(round, error);
      }
      if (plan !== null) this.#queue.splice(0, round.length, ...round.filter(({ done }) => !done));
      else if (first.done) this.#queue.shift();
    }
    this.#lanes.byPartition.delete(this.#partition);
  }

  /** What a {@linkcode DecisionBatch} of one decision would commit, without anything that only several need. */
  #commitAlone(
    { writes, unchecked }: Decision<unknown>,
    reads: readonly Read[],
    state: readonly unknown[],
  ): Promise<Commit> {
    const checks = unchecked === true ? [] : checksOf(reads, state);
    return this.#store.commit(this.#partition, { checks, writes: plainWrites(writes) });
  }

  #settleAlone(ticket: PendingDecision, decided: Decision<unknown>, commit: Commit): void {
    if (commit.ok) {
      keepWritten(this.#partition, decided.writes, commit.version);
      ticket.accept(decided, commit);
    } else if (commit.because === "guard") {
      ticket.refuse(decided, commit.key);
    } else {
      ticket.loseCheck(commit.key);
    }
  }

  /**
   * What the queries would answer, from memory, or null where the store must be asked. Never twice in a row: whoever
   * decides without reading commits twice as often as processes that must read first, and on a busy partition they
   * would lose every race.
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

  /** The decisions at the head of the queue that may share a round. */
  #pick(plan: ReadPlan): PendingDecision[] {
    const round: PendingDecision[] = [];
    for (const ticket of this.#queue) {
      if (round.length >= foldMax || (ticket.runsAlone && round.length > 0) || !plan.add(ticket)) break;
      round.push(ticket);
      if (ticket.runsAlone) break;
    }
    return round;
  }

  async #together(round: readonly PendingDecision[], plan: ReadPlan): Promise<void> {
    const store = this.#store;
    const partition = this.#partition;
    const mustRead = round.some(ticket => ticket.mustRead);
    const recalled = this.#recall(mustRead, plan.queries);
    const results = recalled ?? (await this.#read(plan.queries));
    if (round.some(({ rule }) => rule.ready !== undefined)) await whenReady(round);
    const fold = new DecisionBatch(store.traits, plan.guards(results), recalled !== null);
    for (const ticket of round) {
      if (!ticket.done && !fold.offer(ticket, plan.stateOf(ticket, results))) break;
    }
    if (fold.members.length === 0) return;
    let commit: Commit;
    try {
      commit = await fold.commit(store, partition);
    } catch (error) {
      failed(
        fold.members.map(({ ticket }) => ticket),
        error,
      );
      return;
    }
    if (recalled !== null) judgeRecalled(partition, plan.queries, isCurrent(plan.queries, commit));
    if (commit.ok) fold.accept(partition, commit);
    else if (commit.because === "check") lostCheck(fold.members, commit.key);
    else refusedGuard(fold.members, commit.key);
  }
}

/** Waits for what the decisions depend on, and ends the wait of those for which it failed. */
async function whenReady(round: readonly PendingDecision[]): Promise<void> {
  for (const ticket of round) {
    try {
      await ticket.rule.ready;
    } catch (error) {
      ticket.throw(error);
    }
  }
}

/**
 * Lets the rule decide. Null means that nothing is to be committed: the ticket has its answer, or where the state was
 * recalled it must be decided again from what the store says, as no commit would check it.
 */
function decide(ticket: PendingDecision, state: readonly unknown[], isRecalled: boolean): Decision<unknown> | null {
  let decided: Decision<unknown>;
  try {
    decided = ticket.rule.apply(state as never);
  } catch (error) {
    if (isRecalled) ticket.mustRead = true;
    else ticket.throw(error);
    return null;
  }
  if (isRecalled && !isChecked(decided)) ticket.mustRead = true;
  else if (decided.writes.length > 0) return decided;
  else ticket.accept(decided, nothingCommitted);
  return null;
}

/** Whether a commit has found the records as they were read: checks come before guards. */
function isCurrent(reads: readonly Read[], commit: Commit): boolean {
  if (commit.ok || commit.because === "guard") return true;
  return !reads.some(({ type, key }) => type === "record" && key === commit.key);
}

/** The versions of the records that were read, each once, and the fields that were absent. */
function checksOf(reads: readonly Read[], state: readonly unknown[]): Check[] {
  const checks = reads.map((query, index) => checkOf(query, state[index]));
  return checks.every(isFirst) ? checks : checks.filter(isFirst);
}

/** What a commit must check of a query's result; null where that is nothing. */
function checkOf(query: Read, read: unknown): Check | null {
  if (isOnceMarkRead(query)) return absenceCheck(query, read);
  if (query.type !== "record") return null;
  const stored = read as Stored | null;
  return { key: query.key, version: stored === null ? null : stored.version };
}

/** Whether it is a check, and none before it is about the same record. */
function isFirst(check: Check | null, index: number, all: readonly (Check | null)[]): check is Check {
  if (check === null || "absent" in check) return check !== null;
  for (let before = 0; before < index; before++) {
    const other = all[before];
    if (other?.key === check.key && !("absent" in other)) return false;
  }
  return true;
}

/** Settles what an error of the store means for those whose round it ended. */
function failed(tickets: readonly PendingDecision[], error: unknown): void {
  const open = tickets.filter(({ done }) => !done);
  if (!(error instanceof AppError) && open.length > 1) {
    for (const ticket of open) ticket.runsAlone = true;
    return;
  }
  for (const ticket of open) {
    if (error instanceof AppError && error.code === "outcome_unknown") ticket.loseOutcome(error);
    else ticket.fail(error);
  }
}

function lostCheck(members: readonly BatchedDecision[], key: string): void {
  for (const { ticket } of guilty(members, ({ checked }) => checked.includes(key))) ticket.loseCheck(key);
}

function refusedGuard(members: readonly BatchedDecision[], key: string): void {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0) {
    only.ticket.refuse(only.decided, key);
    return;
  }
  for (const { ticket, decided } of guilty(members, ({ decided }) => decided.writes.some(isSuspect))) {
    ticket.runsAlone = ticket.suspected !== null;
    ticket.suspected = decided.writes;
  }
  function isSuspect(write: Write): boolean {
    return write.key === key && (write.type === "add" || write.type === "score");
  }
}

/** Those at fault, or everybody where nobody seems to be: each round must bring somebody closer to an end. */
function guilty(members: readonly BatchedDecision[], isGuilty: (member: BatchedDecision) => boolean): readonly BatchedDecision[] {
  const found = members.filter(isGuilty);
  return found.length > 0 ? found : members;
}
