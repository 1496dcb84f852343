/**
 * Marks of updates that took effect: records of the user's partition, written by the commit of the update. So a repeated update,
 * and one whose answer was lost, is answered as it was the first time.
 *
 * @module
 */

import type { Put, ReadRecord, Stored } from "../../../storage/mod.ts";
import type { ProfileRecord } from "./record.ts";

export interface UpdateId {
  readonly id: string;
  /** For how long it is remembered, in ms. */
  readonly rememberedMs: number;
}

export interface UpdateMark {
  /** The version of the profile after it. */
  readonly version: number;
  /** Unix ms, no later than its transaction. */
  readonly at: number;
}

export function markReads(once: UpdateId | undefined): readonly ReadRecord[] {
  return once === undefined ? [] : [{ type: "record", key: keyOf(once) }];
}

export function markWrites(
  once: UpdateId | undefined,
  { version }: Pick<ProfileRecord, "version">,
  at: number,
): readonly Put[] {
  if (once === undefined) return [];
  const value = JSON.stringify({ version, at } satisfies UpdateMark);
  return [{ type: "put", key: keyOf(once), value, expireAt: at + once.rememberedMs }];
}

export function parseMark(stored: Stored | null): UpdateMark | null {
  return stored === null ? null : (JSON.parse(stored.value) as UpdateMark);
}

function keyOf({ id }: UpdateId): string {
  return `update:${id}`;
}
