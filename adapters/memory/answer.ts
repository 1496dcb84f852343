import type { BoardRange, LogEntry, Read, Standing, Stored } from "../../lib/storage/contract.ts";
import type { KeptRecord } from "./expiry.ts";
import type { Space } from "./state.ts";

/** The record of a key as others may see it: undefined where it is absent or has expired. */
export function liveRecord(space: Space | undefined, key: string, now: number): KeptRecord | undefined {
  const record = space?.get("record", key);
  return record === undefined || now >= record.expireAt ? undefined : record;
}

/** Answers one query from a partition, or from an empty one. Results share nothing with the state. */
export function answer(
  space: Space | undefined,
  query: Read,
  now: number,
): Stored | null | ReadonlyMap<string, number> | BoardRange | Standing | number | LogEntry[] {
  switch (query.type) {
    case "record": {
      const record = liveRecord(space, query.key, now);
      return record === undefined ? null : { value: record.value, version: record.version };
    }
    case "tally":
      return fields(space?.get("tally", query.key), query.fields);
    case "board":
      return space?.get("board", query.key)?.range(query) ?? { entries: [], size: 0 };
    case "standing":
      return space?.get("board", query.key)?.standing(query) ?? null;
    case "before":
      return space?.get("board", query.key)?.before(query) ?? 0;
    case "log":
      return space?.get("log", query.key)?.range(query) ?? [];
  }
}

function fields(
  tally: ReadonlyMap<string, number> | undefined,
  wanted: readonly string[] | undefined,
): ReadonlyMap<string, number> {
  if (tally === undefined || wanted === undefined) return new Map(tally);
  const found = new Map<string, number>();
  for (const field of wanted) {
    const value = tally.get(field);
    if (value !== undefined) found.set(field, value);
  }
  return found;
}
