/** Several decisions as one commit. */

import type { TallyForecast } from "./_guards.ts";
import { CachedPut, keepWritten, plainWrites } from "./_held.ts";
import { PendingWrites, unknowable } from "./_overlay.ts";
import type { PendingDecision } from "./_ticket.ts";
import type { Check, Commit, FieldCheck, Partition, Store, Traits, Version, Write } from "./contract.ts";
import { checksMax, commitBytesMax } from "./limits.ts";
import type { Committed, Decision } from "./rule.ts";
import { isOnceMarkRead, absenceCheck } from "./unseen.ts";
import { bytesPerUnitMax } from "./utf8.ts";

/** What the commit did for a decision that needed none. */
export const nothingCommitted: Committed = { version: null, results: [] };

/** A decision that is part of the fold. */
export interface BatchedDecision {
  readonly ticket: PendingDecision;
  readonly decided: Decision<unknown>;
  /** The records and tallies that its checks are about. */
  readonly checked: readonly string[];
}

/** Decisions with writes, in order, each made from what was read and from the writes of those before it. */
export class DecisionBatch {
  readonly members: BatchedDecision[] = [];
  /** Null stands for a write that a later one of the fold makes needless. */
  readonly #writes: (Write | null)[] = [];
  /** The place of the last write of each record. */
  readonly #recordWrites = new Map<string, number>();
  readonly #checks = new Map<string, Version | null>();
  readonly #fieldChecks: FieldCheck[] = [];
  readonly #overlay = new PendingWrites();
  readonly #traits: Traits;
  readonly #guards: TallyForecast;
  readonly #isRecalled: boolean;
  #bytes = 0;

  /** `isRecalled` says that the state comes from memory, and that only a commit can tell whether it is current. */
  constructor(traits: Traits, guards: TallyForecast, isRecalled: boolean) {
    this.#traits = traits;
    this.#guards = guards;
    this.#isRecalled = isRecalled;
  }

  /**
   * Makes the decision: settles it where nothing needs to be committed, else takes it in. False means that it must
   * wait for the next fold, because it does not fit or depends on what only this fold's commit will tell.
   */
  offer(ticket: PendingDecision, state: readonly unknown[]): boolean {
    const { reads } = ticket.rule;
    const views = reads.map((query, index) => this.#overlay.view(query, state[index]));
    if (views.includes(unknowable)) return false;
    const sawPending = reads.some(query => this.#overlay.touches(query));
    let decided: Decision<unknown>;
    try {
      decided = ticket.rule.apply(views as never);
    } catch (error) {
      ticket.mustRead ||= this.#isRecalled;
      if (sawPending || this.#isRecalled) return false;
      ticket.throw(error);
      return true;
    }
    if (this.#overlay.takeVersionAsked()) return false;
    if (this.#isRecalled && !isChecked(decided)) {
      ticket.mustRead = true;
      return false;
    }
    if (decided.writes.length === 0) {
      // An answer without a commit must come from one instant, not from effects that may yet be refused.
      if (sawPending) return false;
      ticket.accept(decided, nothingCommitted);
      return true;
    }
    const refused = this.#guards.refusal(decided.writes, this.#overlay);
    if (refused !== null) {
      if (sawPending || this.#overlay.touches({ type: "tally", key: refused })) return false;
      ticket.refuse(decided, refused);
      return true;
    }
    const checks = decided.unchecked === true ? [] : this.#checksOf(ticket, state);
    return this.#take({ ticket, decided, checked: checks.map(({ key }) => key) }, checks);
  }

  /** Commits every decision taken in. */
  commit(store: Store, partition: Partition): Promise<Commit> {
    const checks: Check[] = Array.from(this.#checks, ([key, version]) => ({ key, version }));
    checks.push(...this.#fieldChecks);
    return store.commit(partition, { checks, writes: plainWrites(this.#needed()) });
  }

  /** Answers every decision taken in. */
  accept(partition: Partition, { version, results }: Extract<Commit, { ok: true }>): void {
    this.#overlay.committed(version);
    keepWritten(partition, this.#needed(), version);
    let place = 0;
    let result = 0;
    for (const { ticket, decided } of this.members) {
      const own = decided.writes.map(() =>
        this.#writes[place++] === null ? null : (results[result++] ?? null),
      );
      ticket.accept(decided, { version, results: own });
    }
  }

  #needed(): Write[] {
    return this.#writes.filter(write => write !== null);
  }

  /** What the decision saw in the store; records that an earlier decision of the fold wrote need no check. */
  #checksOf(ticket: PendingDecision, state: readonly unknown[]): Check[] {
    return ticket.rule.reads.flatMap((query, index): Check | [] => {
      if (isOnceMarkRead(query)) return absenceCheck(query, state[index]) ?? [];
      if (query.type !== "record" || this.#overlay.touches(query)) return [];
      const stored = state[index] as { version: Version } | null;
      return { key: query.key, version: stored === null ? null : stored.version };
    });
  }

  #take(member: BatchedDecision, checks: readonly Check[]): boolean {
    const { writes } = member.decided;
    let bytes = this.#bytes;
    for (const write of writes)
      bytes += this.#bytesAtMost(write) - this.#bytesAtMost(this.#replacedBy(write));
    const newChecks = checks.filter(check => "absent" in check || !this.#checks.has(check.key));
    const fits =
      this.#writes.length + writes.length <= this.#traits.maxWrites &&
      bytes <= commitBytesMax &&
      this.#checks.size + this.#fieldChecks.length + newChecks.length <= checksMax;
    // What is too much on its own is for the store to refuse.
    if (!fits && this.members.length > 0) return false;
    this.#bytes = bytes;
    for (const check of newChecks) {
      if ("absent" in check) this.#fieldChecks.push(check);
      else this.#checks.set(check.key, check.version);
    }
    for (const write of writes) this.#add(write);
    this.members.push(member);
    return true;
  }

  #add(write: Write): void {
    this.#overlay.add(write);
    const place = this.#writes.push(write) - 1;
    if (!isRecordWrite(write)) return;
    const replaced = this.#recordWrites.get(write.key);
    if (replaced !== undefined) this.#writes[replaced] = null;
    this.#recordWrites.set(write.key, place);
  }

  /** The write of the fold that this one makes needless: nobody ever sees a record between two writes of a commit. */
  #replacedBy(write: Write): Write | null {
    const place = isRecordWrite(write) ? this.#recordWrites.get(write.key) : undefined;
    return place === undefined ? null : (this.#writes[place] ?? null);
  }

  #bytesAtMost(write: Write | null): number {
    if (write === null) return 0;
    // Asking for its length would print it.
    if (write instanceof CachedPut) return this.#traits.maxValueBytes;
    return write.type === "put" || write.type === "append" ? write.value.length * bytesPerUnitMax : 0;
  }
}

function isRecordWrite(write: Write): boolean {
  return write.type === "put" || (write.type === "delete" && write.shape === "record");
}

/** Whether a commit would check what the decision was made from. */
export function isChecked({ writes, unchecked }: Decision<unknown>): boolean {
  return writes.length > 0 && unchecked !== true;
}
