/**
 * Reads the trail of a project, newest first.
 *
 * The logs of a project are merged in one total order: by time, then by log, then by position in the log. A cursor is
 * the position of the last entry in that order, so pages neither overlap nor skip an entry while others are appended.
 *
 * @module
 */

import type { ReadLog, Store } from "../../../storage/mod.ts";
import {
  type AuditCursor,
  type AuditEntry,
  type AuditPage,
  type AuditPageOptions,
  auditLog,
  auditLogs,
  auditPageDefault,
  auditPartition,
  parseCursor,
} from "./entries.ts";

export async function readProjectTrail(
  store: Store,
  projectId: string,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const after = cursor === undefined ? null : parseCursor(cursor);
  const logs = Array.from({ length: auditLogs }, (_, log) => log);
  // One more than requested shows if another page follows.
  const found = await Promise.all(
    logs.map(async log => {
      const [entries] = await store.read(auditPartition(projectId, log), [
        logRead({ after, log, limit: limit + 1 }),
      ]);
      return entries.map(entry => ({ entry, log }));
    }),
  );
  const merged = found.flat().toSorted((a, b) => b.entry.at - a.entry.at || a.log - b.log);
  const page = merged.slice(0, limit);
  const last = page.at(-1);
  return {
    entries: page.map(({ entry }) => JSON.parse(entry.value) as AuditEntry),
    cursor: last === undefined || merged.length <= limit ? null : `${last.entry.id}.${last.log}`,
  };
}

/** Reads the part of a log that follows a cursor, in the order of the trail. */
function logRead(of: { after: AuditCursor | null; log: number; limit: number }): ReadLog {
  const { after, log, limit } = of;
  const read = { type: "log", key: auditLog, reverse: true, limit } as const;
  if (after === null) return read;
  const { at, sequence } = after;
  if (log === after.log) return { ...read, cursor: `${at}-${sequence}` };
  return { ...read, to: log > after.log ? at : at - 1 };
}
