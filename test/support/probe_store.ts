import { ReferenceModel, ReferenceStore } from "../../adapters/conformance/reference.ts";
import type { Traits } from "../../lib/storage/contract.ts";
import type { Batch, Commit, Read, Results, Store } from "../../lib/storage/mod.ts";

/** Intercepts a commit: may pass it on, act before or after it, or fail. */
export type Interception = (batch: Batch, pass: () => Promise<Commit>) => Promise<Commit>;

/** A store over the reference model that counts its calls and lets a test interfere with each. */
export class ProbeStore implements Store {
  traits: Traits;
  /** The queries of each read so far. */
  readonly reads: (readonly Read[])[] = [];
  /** The batch of each commit so far. */
  readonly commits: Batch[] = [];
  /** Takes the place of the next commits, one each. */
  readonly interceptions: Interception[] = [];
  /** Takes the place of every commit for which no other interception waits. */
  always: Interception | null = null;
  /** Runs before each read. */
  beforeRead: () => Promise<void> | void = () => {};
  /** The same data without the probe, as another process would reach it. */
  readonly other: ReferenceStore;

  constructor(now: () => number = () => 1_750_000_000_000) {
    this.other = new ReferenceStore(new ReferenceModel(now));
    this.traits = this.other.traits;
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    this.reads.push(queries);
    await this.beforeRead();
    return await this.other.read(partition, queries);
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    this.commits.push(batch);
    const intercept = this.interceptions.shift() ?? this.always;
    const pass = (): Promise<Commit> => this.other.commit(partition, batch);
    return await (intercept === null ? pass() : intercept(batch, pass));
  }

  ping(): Promise<void> {
    return this.other.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
