/** Decisions that wait, and several of them in one commit. */

import { AppError } from "../base/errors/mod.ts";
import { bytesPerUnitMax } from "../base/text/mod.ts";
import {
  type Check,
  type Commit,
  type FieldCheck,
  type Partition,
  type Put,
  type Read,
  type ReadTally,
  type Results,
  type Store,
  storageLimits,
  type Traits,
  type Version,
  type Write,
} from "./contract.ts";
import { absenceCheck, CachedRecord, isOnceMarkRead, keepWritten, plainWrites } from "./record_cache.ts";

/** Most commits that a decision may lose to other processes before it gives up. */
const attemptsMax = 50;
const unknownOutcomesMax = 3;
/** Time in ms after which a decision that gave up may be worth another try. */
const conflictRetryMs = 100;

export type AnyRule = Rule<readonly Read[], unknown>;

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

  accept({ answer }: Decision<unknown>, committed: CommitEffect): void {
    this.done = true;
    try {
      this.#resolve(typeof answer === "function" ? answer(committed) : answer);
    } catch (error) {
      this.#reject(error);
    }
  }

  refuse({ refused }: Decision<unknown>, key: string): void {
    this.done = true;
    try {
      this.#resolve(refused === undefined ? exceedsBound(key) : refused(key));
    } catch (error) {
      this.#reject(error);
    }
  }

  throw(error: unknown): void {
    this.done = true;
    this.#reject(error);
  }

  /** Rejects with an error of the store, or with the unknown outcome before it, which no later error resolves. */
  fail(error: unknown): void {
    this.throw(this.#unknownOutcomes?.[0] ?? error);
  }

  loseCheck(key: string): void {
    this.mustRead = true;
    this.#attempts += 1;
    if (this.#attempts < attemptsMax) return;
    const message = `Cannot commit the decision: ${key} changed during each of ${this.#attempts} tries`;
    this.fail(new AppError("conflict", message, { retryAfterMs: conflictRetryMs }));
  }

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
export const nothingCommitted: CommitEffect = { version: null, results: [] };

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
    if (decided.writes.length === 0) {
      // No commit would check the recalled state.
      if (this.#isRecalled) {
        pending.mustRead = true;
        return false;
      }
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
    const checks = this.#checksOf(pending, state);
    return this.#take({ pending, decided, checked: checks.map(({ key }) => key) }, checks);
  }

  commit(store: Store, partition: Partition): Promise<Commit> {
    const checks: Check[] = Array.from(this.#checks, ([key, version]) => ({ key, version }));
    checks.push(...this.#fieldChecks);
    return store.commit(partition, { checks, writes: plainWrites(this.#needed()) });
  }

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

export interface CommitEffect {
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
  readonly answer: A | ((committed: CommitEffect) => A);
  /** Answers, or throws, when a guard refused the commit. @default throws AppError `conflict` */
  readonly refused?: ((key: string) => A) | undefined;
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
  readonly ready?: Promise<unknown> | undefined;
}

/** Result of a query that is unknown until the writes before it are committed. */
const unknowable: unique symbol = Symbol("unknowable");

interface PendingTally {
  /** Set if the tally was deleted first, so that what was read no longer counts. */
  cleared: boolean;
  readonly added: Map<string, number>;
}

class PendingWrites {
  readonly #records = new Map<string, Put | null>();
  readonly #tallies = new Map<string, PendingTally>();
  readonly #boards = new Set<string>();
  readonly #logs = new Set<string>();
  #version: Version | null = null;
  #versionAsked = false;

  /** Returns true if the writes may have changed the result of the query. */
  touches({ type, key }: Read): boolean {
    if (type === "record") return this.#records.has(key);
    if (type === "tally") return this.#tallies.has(key);
    return (type === "log" ? this.#logs : this.#boards).has(key);
  }

  view(query: Read, base: unknown): unknown {
    switch (query.type) {
      case "record":
        return this.#record(query.key, base);
      case "tally":
        return this.#tally(query, base as ReadonlyMap<string, number>);
      default:
        return this.touches(query) ? unknowable : base;
    }
  }

  add(write: Write): void {
    switch (write.type) {
      case "put":
        this.#records.set(write.key, write);
        break;
      case "add": {
        const { added } = this.#pending(write.key);
        added.set(write.field, (added.get(write.field) ?? 0) + write.by);
        break;
      }
      case "score":
      case "unscore":
        this.#boards.add(write.key);
        break;
      case "append":
        this.#logs.add(write.key);
        break;
      case "delete":
        if (write.shape === "record") this.#records.set(write.key, null);
        else if (write.shape === "board") this.#boards.add(write.key);
        else if (write.shape === "log") this.#logs.add(write.key);
        else this.#tallies.set(write.key, { cleared: true, added: new Map() });
        break;
    }
  }

  /** Returns true if a rule has asked for the version of an uncommitted record since the last call. */
  takeVersionAsked(): boolean {
    const asked = this.#versionAsked;
    this.#versionAsked = false;
    return asked;
  }

  committed(version: Version): void {
    this.#version = version;
  }

  #record(key: string, base: unknown): unknown {
    const write = this.#records.get(key);
    if (write === undefined) return base;
    if (write === null) return null;
    // Only the store's clock knows if it has expired already.
    if (write.expireAt !== undefined) return unknowable;
    const version = (): Version => {
      this.#versionAsked ||= this.#version === null;
      return this.#version ?? "";
    };
    if (write instanceof CachedRecord) return write.asRead(version);
    return {
      value: write.value,
      get version(): Version {
        return version();
      },
    };
  }

  #tally(query: ReadTally, base: ReadonlyMap<string, number>): unknown {
    const pending = this.#tallies.get(query.key);
    if (pending === undefined) return base;
    const { cleared, added } = pending;
    const sums = new Map(cleared ? [] : base);
    for (const [field, by] of added) {
      if (query.fields === undefined || query.fields.includes(field))
        sums.set(field, (sums.get(field) ?? 0) + by);
    }
    return sums;
  }

  #pending(key: string): PendingTally {
    let pending = this.#tallies.get(key);
    if (pending === undefined) {
      pending = { cleared: false, added: new Map() };
      this.#tallies.set(key, pending);
    }
    return pending;
  }
}

/**
 * The tallies whose guards refused an earlier commit, as read. Foresees which adds the store would refuse, so that sold-out
 * stock does not cost a commit each.
 */
class TallyForecast {
  readonly #tallies = new Map<string, { fields: ReadonlySet<string>; sums: ReadonlyMap<string, number> }>();

  /** Adds the fields of a tally as read; a field without a sum is 0. */
  learn(key: string, fields: ReadonlySet<string>, sums: ReadonlyMap<string, number>): void {
    this.#tallies.set(key, { fields, sums });
  }

  /** Returns the first key whose bounds the writes would leave, or null if none does or the store must decide. */
  refusal(writes: readonly Write[], pending: PendingWrites): string | null {
    if (this.#tallies.size === 0) return null;
    const running = new Map<string, Map<string, number>>();
    for (const write of writes) {
      if (isOpaque(write)) return null;
      if (write.type !== "add") continue;
      if (!this.#tallies.get(write.key)?.fields.has(write.field)) return null;
      const sums = running.get(write.key) ?? this.#sums(write.key, pending);
      running.set(write.key, sums);
      const sum = (sums.get(write.field) ?? 0) + write.by;
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
      if (sum < min || sum > max || !Number.isSafeInteger(sum)) return write.key;
      sums.set(write.field, sum);
    }
    return null;
  }

  #sums(key: string, pending: PendingWrites): Map<string, number> {
    const sums = pending.view({ type: "tally", key }, this.#tallies.get(key)?.sums ?? new Map());
    return new Map(sums as ReadonlyMap<string, number>);
  }
}

/** Returns true if only the store knows what the write does to a guard: a tally begun anew, a sum of scores. */
function isOpaque(write: Write): boolean {
  return (
    (write.type === "delete" && write.shape === "tally") || (write.type === "score" && write.op === "add")
  );
}

/** Collects queries, each record once, and hands every decision its own results. */
export class ReadPlan {
  readonly queries: Read[] = [];
  readonly #records = new Map<string, number>();
  readonly #indexes = new Map<PendingDecision, readonly number[]>();
  readonly #guarded = new Map<string, { index: number; fields: Set<string> }>();

  /** Adds the queries of a decision, or returns false if the read has no room for them. */
  add(decision: PendingDecision): boolean {
    const { reads } = decision.rule;
    const suspected = decision.suspected ?? [];
    const most = this.queries.length + reads.length + suspected.length;
    if (most > storageLimits.readsMax && this.queries.length > 0) return false;
    this.#indexes.set(
      decision,
      reads.map(query => this.#add(query)),
    );
    for (const write of suspected) if (write.type === "add") this.#addGuarded(write.key, write.field);
    return true;
  }

  /** Returns the results for a decision, in the order of its queries. */
  stateOf(decision: PendingDecision, results: readonly unknown[]): unknown[] {
    return (this.#indexes.get(decision) ?? []).map(index => results[index]);
  }

  /** Returns the forecast for the tallies whose guards refused an earlier commit. */
  forecast(results: readonly unknown[]): TallyForecast {
    const forecast = new TallyForecast();
    for (const [key, { index, fields }] of this.#guarded) {
      forecast.learn(key, fields, results[index] as ReadonlyMap<string, number>);
    }
    return forecast;
  }

  #add(query: Read): number {
    if (query.type !== "record") return this.queries.push(query) - 1;
    const plannedIndex = this.#records.get(query.key);
    if (plannedIndex !== undefined) return plannedIndex;
    const index = this.queries.push(query) - 1;
    this.#records.set(query.key, index);
    return index;
  }

  #addGuarded(key: string, field: string): void {
    let guarded = this.#guarded.get(key);
    if (guarded === undefined) {
      guarded = { index: this.queries.length, fields: new Set() };
      this.#guarded.set(key, guarded);
    }
    guarded.fields.add(field);
    this.queries[guarded.index] = { type: "tally", key, fields: [...guarded.fields] };
  }
}
