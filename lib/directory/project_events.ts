/**
 * All events of a project.
 *
 * @module
 */

import type { ReadRecord, Store } from "../storage/mod.ts";
import { directoryPartition } from "./_partitions.ts";
import type { Event } from "./records.ts";

/** Number of events that are read at a time. */
export const eventsPageMax = 100;

/** The events of a project by the time at which they start, read page by page, uncached. */
export async function* projectEvents(store: Store, projectId: string): AsyncGenerator<Event, void, void> {
  const partition = directoryPartition("project", projectId);
  for (let offset = 0; ; offset += eventsPageMax) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: "events", offset, limit: eventsPageMax },
    ]);
    const reads = entries.map(({ member }): ReadRecord => ({ type: "record", key: `event:${member}` }));
    for (const found of await store.read(partition, reads)) {
      if (found !== null) yield Object.freeze(JSON.parse(found.value)) as Event;
    }
    if (entries.length < eventsPageMax) return;
  }
}
