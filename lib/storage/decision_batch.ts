/** Decisions that wait, and several of them in one commit. */

import { AppError } from "../base/errors/mod.ts";
import { bytesPerUnitMax } from "../base/text/mod.ts";
import type {
  Check,
  Commit,
  FieldCheck,
  Partition,
  Read,
  Store,
  Traits,
  Version,
  Write,
} from "./contract.ts";
import { storageLimits } from "./limits.ts";
import { PendingWrites, type TallyForecast, unknowable } from "./pending_writes.ts";
import { absenceCheck, CachedRecord, isOnceMarkRead, keepWritten, plainWrites } from "./record_cache.ts";
import type { Committed, Decision, Rule } from "./rule.ts";

/** Most commits that a decision may lose to other processes before it gives up. */
const attemptsMax = 50;
/** Most times that an idempotent decision is made anew after an unknown outcome. */
const unknownOutcomesMax = 3;
/** Time in ms after which a decision that gave up may be worth another try. */
const conflictRetryMs = 100;

/** A caller's rule, with its types erased. */
export type AnyRule = Rule<readonly Read[], unknown>;

/** A waiting rule and the outcome of its attempts so far. */
export class PendingDecision {
  readonly rule: AnyRule;
  /** Set once the caller has its answer. */
  done = false;
  /** Set if it must have a commit of its own, because a shared one failed for a reason that may be its own. */
  runsAlone = false;
  /** Set if cached records do not suffice, because they were stale or left nothing for the commit to check. */
  mustRead = false;
  /** Writes of which a guard may have refused one, for the forecast of the next batch. */
  suspected: readonly Write[] | null = null;
  readonly #resolve: (answer: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #attempts = 0;
  #unknownOutcomes: AppError[] | null = null;

  constructor(rule: AnyRule, resolve: (answer: unknown) => void, reject: (error: unknown) => void) {
    this.rule = rule;
    // It may reject while the decision still waits for its turn, which would count as unhandled.
    rule.ready?.catch(() => {});
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Resolves with the answer of a decision that took effect. */
  accept({ answer }: Decision<unknown>, committed: Committed): void {
    this.done = true;
    try {
      this.#resolve(typeof answer === "function" ? answer(committed) : answer);
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Resolves with the answer of a decision that a guard of the key refused. */
  refuse({ refused }: Decision<unknown>, key: string): void {
    this.done = true;
    try {
      this.#resolve(refused === undefined ? exceedsBound(key) : refused(key));
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Rejects with an error of the rule. */
  throw(error: unknown): void {
    this.done = true;
    this.#reject(error);
  }

  /** Rejects with an error of the store, or with the unknown outcome before it, which no later error resolves. */
  fail(error: unknown): void {
    this.throw(this.#unknownOutcomes?.[0] ?? error);
  }

  /** Counts a commit lost on one of its checks. */
  loseCheck(key: string): void {
    this.mustRead = true;
    this.#attempts += 1;
    if (this.#attempts < attemptsMax) return;
    const message = `Cannot commit the decision: ${key} changed during each of ${this.#attempts} tries`;
    this.fail(new AppError("conflict", message, { retryAfterMs: conflictRetryMs }));
  }

  /** Counts a commit of unknown outcome. */
  loseOutcome(error: AppError): void {
    // The cache does not show the effect that the commit may have had.
    this.mustRead = true;
    this.#unknownOutcomes ??= [];
    this.#unknownOutcomes.push(error);
    if (this.rule.idempotent !== true || this.#unknownOutcomes.length > unknownOutcomesMax) this.fail(error);
  }
}

function exceedsBound(key: string): never {
  throw new AppError("conflict", `Cannot commit the decision: a bound of ${key} would be exceeded`);
}

/** Effect of a commit for a decision without writes. */
export const nothingCommitted: Committed = { version: null, results: [] };

export interface BatchedDecision {
  readonly pending: PendingDecision;
  readonly decided: Decision<unknown>;
  /** Keys of the records and tallies that its checks protect. */
  readonly checked: readonly string[];
}

/** Decisions with writes, in order. Each is made from the state that was read and the writes of those before it. */
export class DecisionBatch {
  readonly members: BatchedDecision[] = [];
  /** Null replaces a write that a later one of the batch makes needless. */
  readonly #writes: (Write | null)[] = [];
  /** Index of the last write of each record. */
  readonly #recordWrites = new Map<string, number>();
  readonly #checks = new Map<string, Version | null>();
  readonly #fieldChecks: FieldCheck[] = [];
  readonly #pendingWrites = new PendingWrites();
  readonly #traits: Traits;
  readonly #forecast: TallyForecast;
  readonly #isRecalled: boolean;
  #bytes = 0;

  /** With `isRecalled` the state comes from caches, and only a commit shows if it is current. */
  constructor(traits: Traits, forecast: TallyForecast, isRecalled: boolean) {
    this.#traits = traits;
    this.#forecast = forecast;
    this.#isRecalled = isRecalled;
  }

  /**
   * Makes a decision, and answers it if there is nothing to commit. Returns false if it has to wait for the next batch: there
   * is no room for it, or it depends on the outcome of this commit.
   */
  add(pending: PendingDecision, state: readonly unknown[]): boolean {
    const { reads } = pending.rule;
    const results = reads.map((query, index) => this.#pendingWrites.view(query, state[index]));
    if (results.includes(unknowable)) return false;
    const sawPending = reads.some(query => this.#pendingWrites.touches(query));
    let decided: Decision<unknown>;
    try {
      decided = pending.rule.apply(results as never);
    } catch (error) {
      pending.mustRead ||= this.#isRecalled;
      if (sawPending || this.#isRecalled) return false;
      pending.throw(error);
      return true;
    }
    if (this.#pendingWrites.takeVersionAsked()) return false;
    if (this.#isRecalled && !isChecked(decided)) {
      pending.mustRead = true;
      return false;
    }
    if (decided.writes.length === 0) {
      // An answer without a commit must come from one instant, not from writes that may yet be refused.
      if (sawPending) return false;
      pending.accept(decided, nothingCommitted);
      return true;
    }
    const refused = this.#forecast.refusal(decided.writes, this.#pendingWrites);
    if (refused !== null) {
      if (sawPending || this.#pendingWrites.touches({ type: "tally", key: refused })) return false;
      pending.refuse(decided, refused);
      return true;
    }
    const checks = decided.unchecked === true ? [] : this.#checksOf(pending, state);
    return this.#take({ pending, decided, checked: checks.map(({ key }) => key) }, checks);
  }

  commit(store: Store, partition: Partition): Promise<Commit> {
    const checks: Check[] = Array.from(this.#checks, ([key, version]) => ({ key, version }));
    checks.push(...this.#fieldChecks);
    return store.commit(partition, { checks, writes: plainWrites(this.#needed()) });
  }

  /** Answers every decision of the batch. */
  accept(partition: Partition, { version, results }: Extract<Commit, { ok: true }>): void {
    this.#pendingWrites.committed(version);
    keepWritten(partition, this.#needed(), version);
    let write = 0;
    let result = 0;
    for (const { pending, decided } of this.members) {
      const ownResults = decided.writes.map(() =>
        this.#writes[write++] === null ? null : (results[result++] ?? null),
      );
      pending.accept(decided, { version, results: ownResults });
    }
  }

  #needed(): Write[] {
    return this.#writes.filter(write => write !== null);
  }

  /** Returns the checks of a decision. Records that an earlier decision of the batch wrote need none. */
  #checksOf(pending: PendingDecision, state: readonly unknown[]): Check[] {
    return pending.rule.reads.flatMap((query, index): Check | [] => {
      if (isOnceMarkRead(query)) return absenceCheck(query, state[index]) ?? [];
      if (query.type !== "record" || this.#pendingWrites.touches(query)) return [];
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
      bytes <= storageLimits.commitBytesMax &&
      this.#checks.size + this.#fieldChecks.length + newChecks.length <= storageLimits.checksMax;
    // A decision that is too large on its own is for the store to refuse.
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
    this.#pendingWrites.add(write);
    const index = this.#writes.push(write) - 1;
    if (!isRecordWrite(write)) return;
    const replaced = this.#recordWrites.get(write.key);
    if (replaced !== undefined) this.#writes[replaced] = null;
    this.#recordWrites.set(write.key, index);
  }

  /** Returns the write that this one makes needless: a commit is atomic, so only the last write of a record counts. */
  #replacedBy(write: Write): Write | null {
    const index = isRecordWrite(write) ? this.#recordWrites.get(write.key) : undefined;
    return index === undefined ? null : (this.#writes[index] ?? null);
  }

  #bytesAtMost(write: Write | null): number {
    if (write === null) return 0;
    // Reading its length would print the object.
    if (write instanceof CachedRecord) return this.#traits.maxValueBytes;
    return write.type === "put" || write.type === "append" ? write.value.length * bytesPerUnitMax : 0;
  }
}

function isRecordWrite(write: Write): boolean {
  return write.type === "put" || (write.type === "delete" && write.shape === "record");
}

/** Returns true if the commit checks the state that the decision was made from. */
export function isChecked({ writes, unchecked }: Decision<unknown>): boolean {
  return writes.length > 0 && unchecked !== true;
}
