/** A store that counts the round trips of another by whose partition they go to. */

import type { Traits } from "../../lib/storage/contract.ts";
import type { Batch, Commit, Read, Results, Store } from "../../lib/storage/mod.ts";

/** Round trips so far. */
export interface Trips {
  /** To the partitions of users' loyalty: what a report waits for. */
  loyalty: number;
  /** To boards: the feed in the background. */
  board: number;
  /** To everything else: directory and key ring, read about once a second per process. */
  other: number;
}

/** Counts, and remembers the last batch that a user's loyalty got. */
export class CountingStore implements Store {
  readonly traits: Traits;
  readonly trips: Trips = { loyalty: 0, board: 0, other: 0 };
  lastLoyaltyBatch: Batch | undefined;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
    this.traits = store.traits;
  }

  read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    this.#count(partition);
    return this.#store.read(partition, queries);
  }

  commit(partition: string, batch: Batch): Promise<Commit> {
    if (this.#count(partition) === "loyalty") this.lastLoyaltyBatch = batch;
    return this.#store.commit(partition, batch);
  }

  ping(): Promise<void> {
    return this.#store.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  #count(partition: string): keyof Trips {
    const of = partition.includes(":loyalty:")
      ? "loyalty"
      : partition.includes(":board:")
        ? "board"
        : "other";
    this.trips[of] += 1;
    return of;
  }
}
