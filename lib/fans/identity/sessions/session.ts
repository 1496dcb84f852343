/**
 * Sessions as they are stored, all of a user's in the user's own partition:
 *
 * - record `session:<sid>`: the row, until the session ends;
 * - board `sessions`: every session id by the time at which it ends;
 * - record `cutoff`: the user's epoch, written again whenever the board gets a member, so that a decision based on an
 *   old board fails its check.
 *
 * A row is alive only in the user's current epoch. So one write ends all sessions, also a row that the board lacks.
 *
 * @module
 */

import { networkTag } from "../../../auth/mod.ts";
import { keyName, type ReadBoard, type ReadRecord, type Stored, type Write } from "../../../storage/mod.ts";

/** Most sessions of a user; one more ends the one that was used least recently. */
export const sessionsPerUserMax = 20;
/** Age at which a session ends in any case, in ms: 90 days. */
export const sessionAgeMsMax: number = 90 * 24 * 3_600_000;
/** Time without a refresh after which a session ends, in ms: 30 days. */
export const sessionIdleMsMax: number = 30 * 24 * 3_600_000;

/** Most characters of a stored User-Agent header. */
const userAgentCharactersMax = 256;
/** The stored part of a client's address. */
const sessionNetworkBits = { ipv4: 24, ipv6: 64 } as const;

/** More than a user may have, so that every read has all of them. */
const boardLimit = 100;

/** A session. Times in Unix ms. */
export interface Session {
  readonly sid: string;
  readonly userId: string;
  readonly deviceId: string;
  /** Number of rotations of the refresh token. */
  readonly counter: number;
  readonly rotatedAt: number;
  /** Set once an access token of the current counter was used, which proves that the last rotation arrived. */
  readonly isConfirmed: boolean;
  readonly createdAt: number;
  readonly lastSeen: number;
  /** Time of the user's last login. */
  readonly authenticatedAt: number;
  /** Time at which it ends in any case. */
  readonly expiresAt: number;
  /** Start of the User-Agent header of the login, or "". */
  readonly userAgent: string;
  /** Network of the client at login (`192.0.2.0/24`, `2001:db8::/64`), or "". */
  readonly addressTag: string;
}

/** The device of a login. */
export interface SessionDevice {
  readonly deviceId: string;
  /** The User-Agent header. @default "" */
  readonly userAgent?: string;
  /** Address of the client. @default unknown */
  readonly address?: string;
}

/** Makes the session of a login at `now`, in Unix ms. */
export function newSession(
  userId: string,
  { deviceId, userAgent = "", address }: SessionDevice,
  { sid, now }: { readonly sid: string; readonly now: number },
): Session {
  return {
    sid,
    userId,
    deviceId,
    counter: 0,
    rotatedAt: now,
    isConfirmed: false,
    createdAt: now,
    lastSeen: now,
    authenticatedAt: now,
    expiresAt: now + sessionAgeMsMax,
    userAgent: userAgent.slice(0, userAgentCharactersMax).toWellFormed(),
    addressTag: (address === undefined ? undefined : networkTag(address, sessionNetworkBits)) ?? "",
  };
}

/** The stored row of a session. */
export interface SessionRow extends Session {
  /** The user's epoch in which the session was opened, or survived the end of the others. */
  readonly epoch: number;
}

/** The last end of all sessions of a user. */
export interface Cutoff {
  /** Number of such ends. */
  readonly epoch: number;
  /** Unix ms; 0 for none. */
  readonly at: number;
}

/** Makes the read of a session's row. */
export function sessionRead(sid: string): ReadRecord {
  return { type: "record", key: sessionKey(sid) };
}

/** Reads the user's cut-off. */
export const cutoffRead: ReadRecord = { type: "record", key: "cutoff" };

/** Reads the user's sessions, by the time at which they end. */
export const boardRead: ReadBoard = { type: "board", key: "sessions", limit: boardLimit };

/** Decodes the cut-off. */
export function cutoffOf(stored: Stored | null): Cutoff {
  return stored === null ? { epoch: 0, at: 0 } : (JSON.parse(stored.value) as Cutoff);
}

/** Decodes a row; null if its session is over at `now` (Unix ms). */
export function liveRow(stored: Stored | null, cutoff: Stored | null, now: number): SessionRow | null {
  if (stored === null) return null;
  const row = JSON.parse(stored.value) as SessionRow;
  return isLiveSession(row, cutoff, now) ? row : null;
}

/** Tests if the session is alive at `now`, in Unix ms. */
export function isLiveSession(row: SessionRow, cutoff: Stored | null, now: number): boolean {
  return row.epoch === cutoffOf(cutoff).epoch && now < sessionEnd(row);
}

/** Computes the end of the session unless it is refreshed before, in Unix ms. */
export function sessionEnd({ expiresAt, lastSeen }: Session): number {
  return Math.min(expiresAt, lastSeen + sessionIdleMsMax);
}

/** Makes the writes that store a row. */
export function rowWrites(row: SessionRow): Write[] {
  const { sid, createdAt } = row;
  const end = sessionEnd(row);
  return [
    { type: "put", key: sessionKey(sid), value: JSON.stringify(row), expireAt: end },
    { type: "score", op: "set", key: "sessions", member: sid, score: end, tie: createdAt },
  ];
}

/** Makes the writes that remove a row. */
export function endWrites(sid: string): Write[] {
  return [
    { type: "delete", shape: "record", key: sessionKey(sid) },
    { type: "unscore", key: "sessions", member: sid },
  ];
}

/** Makes the write of the cut-off, which outlives every session that was opened until `now` (Unix ms). */
export function cutoffWrite(cutoff: Cutoff, now: number): Write {
  const expireAt = now + sessionAgeMsMax + sessionIdleMsMax;
  return { type: "put", key: "cutoff", value: JSON.stringify(cutoff), expireAt };
}

export function sessionOf({ epoch: _, ...session }: SessionRow): Session {
  return session;
}

function sessionKey(sid: string): string {
  return keyName("session", sid);
}
