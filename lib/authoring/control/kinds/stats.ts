/** Statistics of events and elements, which are counted without the control API. */

import type { Store } from "../../../storage/mod.ts";
import { readCounts } from "../../feeds/mod.ts";
import { resources } from "../../table/mod.ts";
import type { Kind } from "../kind.ts";

/** Builds the kind of statistics. They have no records; those of an event or element have its id. */
export function statsKind(store: Store): Kind {
  return {
    resource: resources.stats,
    records: { keys: () => [], get: () => null, set: () => {} },
    async load({ id: projectId }, ids) {
      const counts = await readCounts(store, projectId, ids);
      return ids.map(id => {
        const { actions = 0, ...options } = Object.fromEntries(counts.get(id) ?? []);
        return { id, rev: 0, created: 0, updated: 0, attributes: { actions, options }, refs: {} };
      });
    },
  };
}
