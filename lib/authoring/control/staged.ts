/**
 * Elements that no event lists: those of an event that is being made in pieces, and those that a removed event leaves. A note names
 * them, and the background work deletes what a note names.
 *
 * @module
 */

import { directoryPartition } from "../../fans/directory/mod.ts";
import type { Store, Write } from "../../storage/mod.ts";
import { elementKey, statsKey } from "../table/mod.ts";
import type { WorkTask } from "./work.ts";

/** The board of a project that has the notes, by the time in Unix ms from which their elements are deleted. */
const board = "staged";
const notesMax = 100;
const deletesMax = 400;

/** Returns the writes that note elements under the id of their event, to be deleted from a time on (Unix ms). */
export function stagedWrites(eventId: string, elementIds: readonly string[], at: number): readonly Write[] {
  return [
    { type: "put", key: stagedKey(eventId), value: JSON.stringify(elementIds) },
    { type: "score", op: "set", key: board, member: eventId, score: at },
  ];
}

/** Returns the writes that remove a note. The commit has to check its record, so that nothing of it was deleted. */
export function unstagedWrites(eventId: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key: stagedKey(eventId) },
    { type: "unscore", key: board, member: eventId },
  ];
}

/** The key of the note about an event. */
export function stagedKey(eventId: string): string {
  return `staged:${eventId}`;
}

/** Returns the task that deletes what notes name. */
export function stagedTask(store: Store): WorkTask {
  return async ({ kind, id }, now) => {
    if (kind !== "project") return null;
    const partition = directoryPartition("project", id);
    const [{ entries }] = await store.read(partition, [{ type: "board", key: board, limit: notesMax }]);
    for (const { member, score } of entries) {
      if (score > now) return score;
      await deleteStaged(store, partition, member);
    }
    return entries.length < notesMax ? null : now;
  };
}

/** Deletes what the note about an event names, and the note. */
export async function deleteStaged(store: Store, partition: string, eventId: string): Promise<void> {
  const key = stagedKey(eventId);
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  const ids = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
  let version = stored?.version ?? null;
  for (let start = 0; start < ids.length; start += deletesMax) {
    const part = ids.slice(start, start + deletesMax);
    const writes = part.flatMap((each): readonly Write[] => [
      { type: "delete", shape: "record", key: elementKey(each) },
      { type: "delete", shape: "tally", key: statsKey(each) },
    ]);
    // The check fails if the event was completed meanwhile. A new version of the note makes a later completion fail.
    if (stored !== null) writes.push({ type: "put", key, value: stored.value });
    const commit = await store.commit(partition, { checks: [{ key, version }], writes });
    if (!commit.ok) return;
    version = commit.version;
  }
  await store.commit(partition, { checks: [{ key, version }], writes: unstagedWrites(eventId) });
}
