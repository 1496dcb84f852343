/** Commits of a scene, from which servers under test start. */

import type { Batch, Partition, Store } from "../../lib/storage/mod.ts";

/** Commits without their checks, in order. */
export type Commits = (readonly [Partition, Batch])[];

/** Adds every later commit of a store to a list. Returns the store. */
export function recordCommits<S extends Store>(store: S, commits: Commits): S {
  const { commit } = store;
  store.commit = async (partition, batch) => {
    const committed = await commit.call(store, partition, batch);
    if (committed.ok) commits.push([partition, { writes: batch.writes }]);
    return committed;
  };
  return store;
}
