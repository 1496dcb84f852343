/** A store that records every read and commit, so that a test can prove that a request changed nothing. */

import type { Traits } from "../../lib/storage/contract.ts";
import type { Batch, Commit, Partition, Read, Results, Store } from "../../lib/storage/mod.ts";
import type { OpenStore } from "./stores.ts";
import { settle } from "./timer.ts";

/** One commit that was asked for. */
export interface WatchedCommit {
  readonly partition: Partition;
  readonly batch: Batch;
}

/** Passes every call on to another store and records it. */
export class WatchedStore implements Store {
  /** Every commit that was asked for. */
  readonly commits: WatchedCommit[] = [];
  /** Those that took effect. */
  readonly changes: WatchedCommit[] = [];
  /** The partition of every read. */
  readonly reads: Partition[] = [];
  readonly #store: Store;
  #underWay = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get traits(): Traits {
    return this.#store.traits;
  }

  read<const Q extends readonly Read[]>(partition: Partition, queries: Q): Promise<Results<Q>> {
    this.reads.push(partition);
    return this.#follow(this.#store.read(partition, queries));
  }

  async commit(partition: Partition, batch: Batch): Promise<Commit> {
    const asked = { partition, batch };
    this.commits.push(asked);
    const commit = await this.#follow(this.#store.commit(partition, batch));
    if (commit.ok) this.changes.push(asked);
    return commit;
  }

  /** Waits until no call is under way, nor one that follows from its answer. */
  async idle(): Promise<void> {
    do {
      await settle();
    } while (this.#underWay > 0);
  }

  #follow<T>(call: Promise<T>): Promise<T> {
    this.#underWay += 1;
    return call.finally(() => {
      this.#underWay -= 1;
    });
  }

  ping(): Promise<void> {
    return this.#store.ping();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#store[Symbol.asyncDispose]());
  }
}

/** Opens stores as `open` does, and hands each that was opened to `watch`. */
export function watching(open: OpenStore, watch: (store: WatchedStore) => void): OpenStore {
  return async clock => {
    const store = new WatchedStore(await open(clock));
    watch(store);
    return store;
  };
}
