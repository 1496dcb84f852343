/** Pages of lists whose filters have a board each. */

import { type BoardEntry, type Partition, readPageAfter, type Store } from "../../storage/mod.ts";
import type { ListView } from "./jsonapi/queries.ts";

/** Reads the page that a view names by its number, or the one after a position. The newest entries come first unless the view says otherwise. */
export async function readExactPage(
  store: Store,
  partition: Partition,
  { key, view, after }: { readonly key: string; readonly view: ListView; readonly after: string | undefined },
) {
  const { count, number = 1, sort } = view;
  const reverse = sort?.descending ?? true;
  const offset = (number - 1) * count;
  const limit = after === undefined ? count : 0;
  const [found] = await store.read(partition, [{ type: "board", key, reverse, offset, limit }]);
  const { entries, isEnd } =
    after === undefined
      ? { entries: found.entries, isEnd: offset + count >= found.size }
      : await readPageAfter(store, partition, {
          ...{ key, limit: count, direction: reverse ? "desc" : "asc" },
          after: JSON.parse(after) as BoardEntry,
        });
  const ids = entries.map(({ member }) => member);
  return { ids, next: isEnd ? null : JSON.stringify(entries.at(-1)), total: found.size };
}
