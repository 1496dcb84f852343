/**
 * Reads the trail of a project back, newest first.
 *
 * The logs of a project are merged in one total order: by time, then by log, then by position in the log. A cursor is
 * the place of the last entry given in that order, so pages neither overlap nor leave anything out, whatever is
 * appended meanwhile.
 *
 * @module
 */

import type { LogEntry, ReadLog, Store } from "../../storage/mod.ts";
import type { AuditEntry, AuditPage, AuditPageOptions } from "./audit.ts";
import { type Place, placeOf } from "./cursor.ts";
import { auditKey, auditLogs, auditPageDefault, projectLog } from "./places.ts";

/** A page of the trail of a project. */
export async function projectTrail(
  store: Store,
  projectId: string,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const after = cursor === undefined ? null : placeOf(cursor);
  const logs = Array.from({ length: auditLogs }, (_, log) => log);
  // One more than asked for tells whether another page follows.
  const found = await Promise.all(
    logs.map(async log => {
      const query = logRead({ after, log, limit: limit + 1 });
      const [entries] = await store.read(projectLog(projectId, log), [query]);
      return entries.map(entry => ({ entry, log }));
    }),
  );
  const merged = found.flat().toSorted((a, b) => b.entry.at - a.entry.at || a.log - b.log);
  const shown = merged.slice(0, limit);
  const last = shown.at(-1);
  return {
    entries: shown.map(({ entry }) => entryOf(entry)),
    cursor: last === undefined || merged.length <= limit ? null : `${last.entry.id}.${last.log}`,
  };
}

/** What of a log comes after a place, in the order of the trail. */
function logRead(of: { after: Place | null; log: number; limit: number }): ReadLog {
  const { after, log, limit } = of;
  const read = { type: "log", key: auditKey, reverse: true, limit } as const;
  if (after === null) return read;
  const { at, sequence } = after;
  if (log === after.log) return { ...read, cursor: `${at}-${sequence}` };
  return { ...read, to: log > after.log ? at : at - 1 };
}

function entryOf({ value }: LogEntry): AuditEntry {
  return JSON.parse(value) as AuditEntry;
}
