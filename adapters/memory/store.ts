import { AppError } from "../../lib/base/errors/mod.ts";
import type { Batch, Commit, Partition, Read, Results, Store, Traits } from "../../lib/storage/contract.ts";
import { storageLimits } from "../../lib/storage/limits.ts";
import type { PartitionLister, PartitionQuery } from "../../lib/storage/ports.ts";
import { validateBatch, validateReads } from "../../lib/storage/validate.ts";
import { replayFrame, snapshotFrames, writeFrame } from "./frames.ts";
import type { Journal, JournalClient } from "./journal.ts";
import { answer, liveRecord, State } from "./state.ts";
import { CommitChange } from "./writes.ts";

/** Options of the memory store. */
export interface MemoryStoreOptions {
  /** The time in Unix ms, by which records expire. @default Date.now */
  readonly clock?: () => number;
  /** Keeps the commits beyond the end of the process. @default nothing is kept */
  readonly journal?: Journal;
  /** A 32-bit integer that decides where members lie in tables, unknown to clients. @default a random one */
  readonly seed?: number;
}

/** Commits per millisecond of a store's life before a later life could meet their version numbers. */
const commitsPerMs = 1_000;

/**
 * Creates a store that lives in this process: the whole contract, at the speed of its data structures, and for as long
 * as the process lives unless a journal is given. Two stores never share anything.
 *
 * With a durable journal a commit is acknowledged once it is kept, and what a read shows is kept as well. A commit that
 * the journal loses is undone before it is reported, so memory and journal never differ.
 *
 * ```ts
 * const store = createMemoryStore();
 * await store.commit("shop", { writes: [{ type: "add", key: "stock", field: "cap", by: 3 }] });
 * const [stock] = await store.read("shop", [{ type: "tally", key: "stock" }]);
 * ```
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store & PartitionLister {
  return new MemoryStore(options);
}

/** Number of partitions that are listed in one go. */
export const listedPartitionsMax = 1_000;

class MemoryStore implements Store, PartitionLister {
  readonly traits: Traits;
  readonly #clock: () => number;
  readonly #state: State;
  readonly #journal: Journal | undefined;
  /** Commits that are applied but not settled, oldest first. */
  readonly #unsettled: Set<CommitChange> = new Set();
  /** The settlement of the last commit of a partition, where reads have to wait for it. */
  readonly #settlements: Map<Partition, Promise<void>> = new Map();
  #opening: Promise<void> | undefined;
  #closed = false;

  constructor({ clock = Date.now, journal, seed = randomSeed() }: MemoryStoreOptions) {
    this.traits = {
      durable: journal?.durable ?? false,
      maxWrites: storageLimits.writesMax,
      maxValueBytes: storageLimits.valueBytesMax,
    };
    this.#clock = clock;
    // Counting from the time on, versions differ from those of an earlier store of which clients may still hold some.
    this.#state = new State(Math.max(0, Math.floor(clock())) * commitsPerMs, seed);
    this.#journal = journal;
    if (journal !== undefined) this.#open(journal);
  }

  async read<const Q extends readonly Read[]>(partition: Partition, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    if (this.#opening !== undefined) await this.#opening;
    this.#requireOpen();
    const space = this.#state.find(partition);
    const now = this.#clock();
    const results: unknown[] = [];
    for (const query of queries) results.push(answer(space, query, now));
    const settlement = this.#settlements.get(partition);
    if (settlement !== undefined) await settlement;
    return results as unknown as Results<Q>;
  }

  async commit(partition: Partition, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    if (this.#opening !== undefined) await this.#opening;
    this.#requireOpen();
    // From here to the journal nothing awaits: this is what makes a commit atomic.
    const now = this.#clock();
    const fault = this.#faultyCheck(partition, batch, now);
    if (fault !== undefined) return this.#refusal(partition, "check", fault);
    const number = this.#state.counter + 1;
    const version = number.toString(36);
    const isKept = this.#journal !== undefined;
    const change = new CommitChange({ state: this.#state, partition, version, isKept });
    const guarded = change.apply(batch.writes);
    if (guarded !== undefined) return this.#refusal(partition, "guard", guarded);
    this.#state.counter = number;
    const settlement = this.#keep(partition, number, change);
    this.#state.sweep(now, batch.writes.length);
    if (settlement !== undefined) await settlement;
    return { ok: true, version: change.version, results: change.results };
  }

  async *partitions({ prefix, record }: PartitionQuery): AsyncGenerator<readonly Partition[], void> {
    await this.#opening;
    this.#requireOpen();
    const now = this.#clock();
    let group: Partition[] = [];
    for (const [partition, space] of this.#state.partitions()) {
      if (!partition.startsWith(prefix) || liveRecord(space, record, now) === undefined) continue;
      group.push(partition);
      if (group.length < listedPartitionsMax) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }

  readonly now = (): number => this.#clock();

  async ping(): Promise<void> {
    await this.#opening;
    this.#requireOpen();
    await this.#journal?.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#opening?.catch(() => {});
    await this.#journal?.close();
  }

  #open(journal: Journal): void {
    const client: JournalClient = {
      apply: frame => replayFrame(this.#state, frame),
      snapshot: () => snapshotFrames(this.#state),
    };
    this.#opening = journal.open(client).then(() => {
      this.#opening = undefined;
    });
    // Every call on the store reports the failure, so the promise itself needs no handler.
    this.#opening.catch(() => {});
  }

  #requireOpen(): void {
    if (this.#closed) throw new AppError("storage_unavailable", "Cannot use the store: it is closed");
  }

  #faultyCheck(partition: Partition, { checks }: Batch, now: number): string | undefined {
    if (checks === undefined) return undefined;
    const space = this.#state.find(partition);
    for (const check of checks) {
      const { key } = check;
      const holds =
        "absent" in check
          ? space?.get("tally", key)?.has(check.absent) !== true
          : (liveRecord(space, key, now)?.version ?? null) === check.version;
      if (!holds) return key;
    }
    return undefined;
  }

  async #refusal(partition: Partition, because: "check" | "guard", key: string): Promise<Commit> {
    // The refusal may be due to a commit that is not settled yet.
    await this.#settlements.get(partition);
    return { ok: false, because, key };
  }

  /** Hands a commit to the journal; returns what to wait for before it may be acknowledged. */
  #keep(partition: Partition, number: number, change: CommitChange): Promise<void> | undefined {
    const journal = this.#journal;
    if (journal === undefined || change.effects.length === 0) return this.#settlements.get(partition);
    const settlement = new Promise<void>((resolve, reject) => {
      journal.append(writeFrame(number, partition, change.effects), failure => {
        if (this.#settlements.get(partition) === settlement) this.#settlements.delete(partition);
        if (failure === undefined) {
          this.#unsettled.delete(change);
          resolve();
        } else {
          this.#takeBack();
          reject(failure);
        }
      });
      this.#unsettled.add(change);
    });
    if (!this.#unsettled.has(change)) change.undo();
    else if (journal.durable) this.#settlements.set(partition, settlement);
    return settlement;
  }

  /** Undoes every commit that is not settled: the journal has lost the oldest of them, and with it all others. */
  #takeBack(): void {
    for (const change of [...this.#unsettled].reverse()) change.undo();
    this.#unsettled.clear();
  }
}

function randomSeed(): number {
  return crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
}
