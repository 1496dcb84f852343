/** A store that stops taking commits after some, as one whose server goes away. */

import { AppError } from "../../../lib/base/errors/mod.ts";
import type { OpenStore } from "../../support/stores.ts";

/** Opens the store, and says after how many commits from now on it fails. */
export interface FailingStore {
  readonly open: OpenStore;
  failAfter(commits: number): void;
}

/** Wraps a store that fails when it is told to. */
export function failingOnce(open: OpenStore): FailingStore {
  let left = Number.POSITIVE_INFINITY;
  return {
    async open(clock) {
      const store = await open(clock);
      return {
        traits: store.traits,
        read: (partition, queries) => store.read(partition, queries),
        async commit(partition, batch) {
          if (left <= 0) throw new AppError("storage_unavailable", "The store went away");
          left -= 1;
          return await store.commit(partition, batch);
        },
        ping: () => store.ping(),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    },
    failAfter(commits) {
      left = commits;
    },
  };
}
