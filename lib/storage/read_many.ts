/**
 * Reads any number of queries of one shape, at different instants if they are many.
 *
 * @module
 */

import type { Partition, Read, Results, Store } from "./contract.ts";
import { storageLimits } from "./limits.ts";

/** Returns the results of queries in their order. */
export async function readMany<Q extends Read>(
  store: Store,
  partition: Partition,
  queries: readonly Q[],
): Promise<readonly Results<readonly Q[]>[number][]> {
  const { readsMax } = storageLimits;
  const starts = Array.from({ length: Math.ceil(queries.length / readsMax) }, (_, part) => part * readsMax);
  const parts = await Promise.all(
    starts.map(start => store.read(partition, queries.slice(start, start + readsMax))),
  );
  return parts.flat();
}
