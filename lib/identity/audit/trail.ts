/**
 * Reads trails back, newest first.
 *
 * The logs of a project are merged in one total order: by time, then by log, then by position in the log. A cursor is
 * the place of the last entry given in that order, so pages neither overlap nor leave anything out, whatever is
 * appended meanwhile.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../errors/mod.ts";
import type { LogEntry, Partition, ReadLog, Store } from "../../storage/mod.ts";
import { userPartition } from "../users.ts";
import type { AuditEntry, AuditPage, AuditPageOptions } from "./audit.ts";
import { auditKey, auditLogs, projectLog } from "./places.ts";

/** Entries of a page that asks for no other number. */
export const auditPageDefault = 50;
/** Most entries of a page. */
export const auditPageMax = 100;

/** The shape of a cursor: the id of a log's entry, and which log it is of. */
const cursorShape = /^([1-9]\d{0,13})-\d{1,15}\.(\d{1,2})$/;

/** Checks a cursor. */
export const AuditCursorSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.regex(cursorShape, "Expected the cursor of a page"),
);

interface Place {
  readonly at: number;
  readonly id: string;
  readonly shard: number;
}

/** A page of the trail of one user. */
export async function userTrail(
  store: Store,
  of: { readonly projectId: string; readonly userId: string },
  page: AuditPageOptions = {},
): Promise<AuditPage> {
  return await trail(store, [userPartition(of.projectId, of.userId)], page);
}

/** A page of the trail of a project. */
export async function projectTrail(
  store: Store,
  projectId: string,
  page: AuditPageOptions = {},
): Promise<AuditPage> {
  const logs = Array.from({ length: auditLogs }, (_, shard) => projectLog(projectId, shard));
  return await trail(store, logs, page);
}

async function trail(
  store: Store,
  logs: readonly Partition[],
  { limit = auditPageDefault, cursor }: AuditPageOptions,
): Promise<AuditPage> {
  const after = cursor === undefined ? null : placeOf(cursor);
  // One more than asked for tells whether another page follows.
  const found = await Promise.all(
    logs.map(async (partition, shard) => {
      const [entries] = await store.read(partition, [logRead({ after, shard, limit: limit + 1 })]);
      return entries.map(entry => ({ entry, shard }));
    }),
  );
  const merged = found.flat().toSorted((a, b) => b.entry.at - a.entry.at || a.shard - b.shard);
  const shown = merged.slice(0, limit);
  const last = shown.at(-1);
  return {
    entries: shown.map(({ entry }) => entryOf(entry)),
    cursor: last === undefined || merged.length <= limit ? null : `${last.entry.id}.${last.shard}`,
  };
}

/** What of a log comes after a place, in the order of the trail. */
function logRead(of: { after: Place | null; shard: number; limit: number }): ReadLog {
  const { after, shard, limit } = of;
  const read = { type: "log", key: auditKey, reverse: true, limit } as const;
  if (after === null) return read;
  if (shard === after.shard) return { ...read, cursor: after.id };
  return { ...read, to: shard > after.shard ? after.at : after.at - 1 };
}

function placeOf(cursor: string): Place {
  const [, at, shard] = cursorShape.exec(cursor) ?? [];
  if (at === undefined || shard === undefined) {
    throw new AppError(
      "validation_failed",
      "Cannot read the trail from there as the cursor is not of a page",
    );
  }
  return { at: Number(at), shard: Number(shard), id: cursor.slice(0, cursor.lastIndexOf(".")) };
}

function entryOf({ value }: LogEntry): AuditEntry {
  return JSON.parse(value) as AuditEntry;
}
