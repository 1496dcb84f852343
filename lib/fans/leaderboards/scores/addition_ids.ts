/**
 * The ids under which scores were added to, so that a repeated addition has no second effect.
 *
 * A record beside the entry has the newest ids of the user. An addition checks it, and rewrites it in the commit that adds. So
 * additions for one user wait for each other, and those for others do not.
 *
 * @module
 */

import type { ReadRecord, Stored, Write } from "../../../storage/mod.ts";
import type { ScoreChange } from "./board_change.ts";

/** Number of ids that are remembered for a user on a board: the newest. */
export const additionIdsMax = 100;
/** The record that says that a partition has ids; without it, a removal of the partition looks for none. */
export const hasAdditionsKey = "additions";

/** An amount that counts once for its id. */
export type Addition = Pick<ScoreChange, "userId" | "score" | "at"> & { readonly id: string };

const keyOf = (userId: string): string => `added:${userId}`;

export function additionIdsRead(userId: string): ReadRecord {
  return { type: "record", key: keyOf(userId) };
}

/** Returns the writes that remember an id; null if it is remembered. */
export function additionIdsWrites({ userId, id }: Addition, stored: Stored | null): readonly Write[] | null {
  const ids = stored === null ? [] : (JSON.parse(stored.value) as string[]);
  if (ids.includes(id)) return null;
  const newest = [...ids, id].slice(-additionIdsMax);
  return [
    { type: "put", key: keyOf(userId), value: JSON.stringify(newest) },
    { type: "put", key: hasAdditionsKey, value: "" },
  ];
}

/** Returns the write that forgets a user's ids. */
export function additionIdsDelete(userId: string): Write {
  return { type: "delete", shape: "record", key: keyOf(userId) };
}
