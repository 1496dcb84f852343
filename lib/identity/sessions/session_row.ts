/**
 * Sessions as they are stored, all of a user's in the user's own partition:
 *
 * - record `session:<sid>`: the row, until the session ends;
 * - board `sessions`: every session id by the time at which it ends;
 * - record `cutoff`: the user's epoch, which is put anew whenever the board gets a member, so that decisions which rest
 *   on the board are never made on an old one.
 *
 * A row is alive only in the user's current epoch. So ending all sessions is one write that holds even for a row that
 * nobody lists.
 *
 * @module
 */

import { keyName, type ReadBoard, type ReadRecord, type Stored, type Write } from "../../storage/mod.ts";
import type { Session } from "./sessions.ts";

/** Age at which a session ends whatever happens, in ms: 90 days. */
export const sessionAgeMsMax: number = 90 * 24 * 3_600_000;
/** Time without a refresh after which a session ends, in ms: 30 days. */
export const sessionIdleMsMax: number = 30 * 24 * 3_600_000;

/** Members of a user's board that are read. There are never more than the bound of sessions, so this is all of them. */
const boardLimit = 100;

/** A row. */
export interface SessionRow extends Session {
  /** The user's epoch in which the session was opened, or was kept by whoever ended the others. */
  readonly epoch: number;
}

/** When all sessions of a user ended last. */
export interface Cutoff {
  /** Counts how often that happened. */
  readonly epoch: number;
  /** Unix ms; 0 where it never happened. */
  readonly at: number;
}

/** Reads the row of a session. */
export function sessionRead(sid: string): ReadRecord {
  return { type: "record", key: sessionKey(sid) };
}

/** Reads the user's cut-off. */
export const cutoffRead: ReadRecord = { type: "record", key: "cutoff" };

/** Reads which sessions the user has, the one that ends first at the start. */
export const boardRead: ReadBoard = { type: "board", key: "sessions", limit: boardLimit };

/** The cut-off as read. */
export function cutoffOf(stored: Stored | null): Cutoff {
  return stored === null ? { epoch: 0, at: 0 } : (JSON.parse(stored.value) as Cutoff);
}

/** The session as read, or null where it is over at `now` (Unix ms). */
export function liveRow(stored: Stored | null, cutoff: Stored | null, now: number): SessionRow | null {
  if (stored === null) return null;
  const row = JSON.parse(stored.value) as SessionRow;
  return isLive(row, cutoff, now) ? row : null;
}

/** Whether the session is not over at `now`, in Unix ms. */
export function isLive(row: SessionRow, cutoff: Stored | null, now: number): boolean {
  return row.epoch === cutoffOf(cutoff).epoch && now < endOf(row);
}

/** When the session ends unless it is refreshed before, in Unix ms. */
export function endOf({ expiresAt, lastSeen }: Session): number {
  return Math.min(expiresAt, lastSeen + sessionIdleMsMax);
}

/** Stores the row. */
export function rowWrites(row: SessionRow): Write[] {
  const { sid, createdAt } = row;
  const end = endOf(row);
  return [
    { type: "put", key: sessionKey(sid), value: JSON.stringify(row), expireAt: end },
    { type: "score", op: "set", key: "sessions", member: sid, score: end, tie: createdAt },
  ];
}

/** Removes the row. */
export function endWrites(sid: string): Write[] {
  return [
    { type: "delete", shape: "record", key: sessionKey(sid) },
    { type: "unscore", key: "sessions", member: sid },
  ];
}

/** Stores the cut-off, for longer than any session that was opened until `now` (Unix ms) can live. */
export function cutoffWrite(cutoff: Cutoff, now: number): Write {
  const expireAt = now + sessionAgeMsMax + sessionIdleMsMax;
  return { type: "put", key: "cutoff", value: JSON.stringify(cutoff), expireAt };
}

/** The session without what is for the store alone. */
export function sessionOf({ epoch: _, ...session }: SessionRow): Session {
  return session;
}

function sessionKey(sid: string): string {
  return keyName("session", sid);
}
