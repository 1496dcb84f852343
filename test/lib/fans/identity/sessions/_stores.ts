/** Runs a suite in memory, and over Redis and PostgreSQL, reached by one client and by two. */

import { describe } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import type { Store } from "../../../../../lib/storage/mod.ts";
import { databases } from "../../../../support/databases.ts";
import { WatchedStore } from "../../../../support/watched_store.ts";
import type { OpenPair } from "./_world.ts";

/** Declares the suite once per kind of store. */
export function describeOnPairs(title: string, body: (open: OpenPair) => void): void {
  describe(`${title} (memory)`, () => {
    body(async clock => {
      const store = createMemoryStore({ clock });
      // A view of its own, so that decisions of the two do not queue up together.
      return [store, new WatchedStore(store)];
    });
  });
  for (const clients of [1, 2] as const) {
    for (const { name, skip, handles } of databases) {
      describe(`${title} (${name}, clients: ${clients})`, { skip }, () => {
        body(async clock => {
          const [first, second = first] = (await handles(clients, clock)) as [Store, Store?];
          return [first, second];
        });
      });
    }
  }
}
