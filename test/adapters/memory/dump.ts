import type { Read, Store } from "../../../lib/storage/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";

/** Everything that the random operations of the conformance suite can touch. */
const partitions = ["p", "{p}", "p:a"];
const keys = ["a", "b", "{a}"];
const names = ["x", "y", "z", "～", "😀", "__proto__"];

/** Everything that random operations may have left in a store. */
export async function dump(store: Store): Promise<unknown> {
  const queries = keys.flatMap((key): Read[] => [
    { type: "record", key },
    { type: "tally", key },
    { type: "board", key, limit: storageLimits.rangeLimitMax },
    { type: "log", key, limit: storageLimits.rangeLimitMax },
    ...names.map((member): Read => ({ type: "standing", key, member })),
  ]);
  return Promise.all(partitions.map(partition => store.read(partition, queries)));
}
