/**
 * The log of a user's history: bounded in records and in bytes, and read in pages that are bounded too.
 *
 * A log knows no bytes, so the state of the user counts them by parts of the log. The oldest parts leave the log together as soon as
 * the others fill it.
 *
 * @module
 */

import type { Append, ReadLog } from "../../storage/mod.ts";
import { utf8Length } from "../../text/mod.ts";
import type { HistoryRecord } from "./history.ts";
import type { HistoryPart } from "./state.ts";
import { printRecord } from "./stored_state.ts";

/** Most records that a user's history keeps; the oldest is dropped first. */
export const historyMax = 10_000;
/** Most bytes that a user's history keeps, as texts of records; the oldest records are dropped first, a sixteenth at once. */
export const historyBytesMax: number = 8 * 1_024 * 1_024;

const partBytesMax = historyBytesMax / 16;
const partRecordsMax = historyMax / 16;

/** Most records of one read, so that the reply stays small beside those of others. */
export const historyReadMax = 250;

/** Returns the read of the next records, oldest first. */
export function readNextRecords(
  cursor: string | undefined,
  range: Pick<ReadLog, "from" | "to"> = {},
): ReadLog {
  const read: ReadLog = { type: "log", key: "history", limit: historyReadMax, ...range };
  return cursor === undefined ? read : { ...read, cursor };
}

/** Returns the writes that append records, and the parts of the log after them. */
export function appendRecords(
  before: readonly HistoryPart[],
  records: readonly HistoryRecord[],
): { readonly parts: readonly HistoryPart[]; readonly writes: readonly Append[] } {
  let parts = before;
  const writes = records.map((record): Append => {
    const value = printRecord(record);
    parts = boundedParts(parts, utf8Length(value) ?? value.length);
    const kept = parts.reduce((sum, [count]) => sum + count, 0);
    return { type: "append", key: "history", value, at: record.at, maxLength: Math.min(historyMax, kept) };
  });
  return { parts, writes };
}

/** Adds a record to the newest part, and drops old parts while the others alone fill the log. */
function boundedParts(parts: readonly HistoryPart[], bytes: number): readonly HistoryPart[] {
  const [records, partBytes] = parts.at(-1) ?? [0, 0];
  const isFull = records >= partRecordsMax || (records > 0 && partBytes + bytes > partBytesMax);
  const next: HistoryPart[] = isFull
    ? [...parts, [1, bytes]]
    : [...parts.slice(0, -1), [records + 1, partBytes + bytes]];
  if (!isFull) return next;
  let [allRecords, allBytes] = next.reduce<HistoryPart>(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  // A part that is begun may grow to its bound before the next one is dropped.
  while (next.length > 1 && allBytes > historyBytesMax - partBytesMax) {
    const [oldRecords, oldBytes] = next.shift() ?? [0, 0];
    allRecords -= oldRecords;
    allBytes -= oldBytes;
  }
  while (next.length > 1 && allRecords - (next[0]?.[0] ?? 0) >= historyMax) {
    allRecords -= next.shift()?.[0] ?? 0;
  }
  return next;
}
