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
import { Fold, type Folded } from "./_fold.ts";
import { ReadPlan } from "./_read_plan.ts";
import { Ticket, type Waiting } from "./_ticket.ts";
import type { Commit, Partition, Store, Write } from "./contract.ts";

/** Most decisions of one round: bounds how long the first of them waits for the last. */
export const foldMax = 256;

/** Where a lane's decisions go. */
export interface LaneOptions {
  readonly store: Store;
  readonly partition: Partition;
  /** Most decisions that may wait. */
  readonly waitingMax: number;
  /** Runs when the last decision has its answer; the lane is not used afterwards. */
  readonly onIdle: () => void;
}

/** A queue of decisions that empties itself. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #queue: Ticket[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Takes a decision in, or rejects it as `busy`. */
  push(rule: Waiting): void {
    const { waitingMax } = this.#options;
    if (this.#queue.length >= waitingMax) {
      rule.reject(
        new AppError("busy", `Cannot take the decision: ${waitingMax} wait for its partition`, {
          retryAfterMs: 1_000,
        }),
      );
      return;
    }
    // Decisions of the same turn of the event loop meet in the first round.
    if (this.#queue.push(new Ticket(rule)) === 1) queueMicrotask(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const plan = new ReadPlan();
      const round = this.#pick(plan);
      try {
        await this.#round(round, plan);
      } catch (error) {
        failed(round, error);
      }
      this.#queue.splice(0, round.length, ...round.filter(({ done }) => !done));
    }
    this.#options.onIdle();
  }

  /** The decisions at the head of the queue that may share a round. */
  #pick(plan: ReadPlan): Ticket[] {
    const round: Ticket[] = [];
    for (const ticket of this.#queue) {
      if (round.length >= foldMax || (ticket.solo && round.length > 0) || !plan.add(ticket)) break;
      round.push(ticket);
      if (ticket.solo) break;
    }
    return round;
  }

  async #round(round: readonly Ticket[], plan: ReadPlan): Promise<void> {
    const { store, partition } = this.#options;
    const results = plan.queries.length === 0 ? [] : await store.read(partition, plan.queries);
    const fold = new Fold(store.traits, plan.guards(results));
    for (const ticket of round) if (!fold.offer(ticket, plan.stateOf(ticket, results))) break;
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
    if (commit.ok) fold.accept(commit);
    else if (commit.because === "check") lostCheck(fold.members, commit.key);
    else refusedGuard(fold.members, commit.key);
  }
}

/** Settles what an error of the store means for those whose round it ended. */
function failed(tickets: readonly Ticket[], error: unknown): void {
  const open = tickets.filter(({ done }) => !done);
  if (!(error instanceof AppError) && open.length > 1) {
    for (const ticket of open) ticket.solo = true;
    return;
  }
  for (const ticket of open) {
    if (error instanceof AppError && error.code === "outcome_unknown") ticket.unknown(error);
    else ticket.fail(error);
  }
}

function lostCheck(members: readonly Folded[], key: string): void {
  for (const { ticket } of guilty(members, ({ checked }) => checked.includes(key))) ticket.lost(key);
}

function refusedGuard(members: readonly Folded[], key: string): void {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0) {
    only.ticket.settle(() => only.decided.refuse(key));
    return;
  }
  for (const { ticket, decided } of guilty(members, ({ decided }) => decided.writes.some(isSuspect))) {
    ticket.solo = ticket.suspected !== null;
    ticket.suspected = decided.writes;
  }
  function isSuspect(write: Write): boolean {
    return write.key === key && (write.type === "add" || write.type === "score");
  }
}

/** Those at fault, or everybody where nobody seems to be: each round must bring somebody closer to an end. */
function guilty(members: readonly Folded[], isGuilty: (member: Folded) => boolean): readonly Folded[] {
  const found = members.filter(isGuilty);
  return found.length > 0 ? found : members;
}
