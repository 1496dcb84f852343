/**
 * The audit trail: every attempt at an identity operation with its outcome, without secrets.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type ErrorCode } from "../../../base/errors/mod.ts";
import { type Partition, tenantPartition } from "../../../storage/mod.ts";

/** Number of logs over which the trail of a project is spread, as each log is one hash slot of a cluster. */
export const auditLogs = 16;
/** Most entries of each log of a project; the oldest are dropped. */
export const projectEntriesMax = 4_096;
/** Most entries of a user's trail; the oldest are dropped. */
export const userEntriesMax = 50;
/** Default number of entries of a page. */
export const auditPageDefault = 50;
/** Most entries of a page. */
export const auditPageMax = 100;

/** The log of a project's entries in each of its partitions. */
export const auditLog = "audit";

/** Names the partition of one of a project's logs. */
export function auditPartition(projectId: string, log: number): Partition {
  return tenantPartition({ project: projectId }, "audit", String(log));
}

/** The subject of an attempt, as far as the operation knows it. */
export interface AuditFacts {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly deviceId?: string;
}

/** One attempt. */
export interface AuditEntry extends AuditFacts {
  /** Unix ms. */
  readonly at: number;
  /** The operation, for example `login`. */
  readonly event: string;
  readonly outcome: "ok" | ErrorCode;
  readonly provider: string;
  /** The id of the API key that acted on the user. */
  readonly actor?: string;
  /** The /24 (IPv4) or /64 (IPv6) network of the client. */
  readonly addressTag?: string;
  /** A keyed hash of the user agent, which distinguishes two and reveals none. */
  readonly userAgentTag?: string;
  readonly requestId: string;
}

/** The page of a trail to read. */
export interface AuditPageOptions {
  /** @default 50 */
  readonly limit?: number;
  /** The cursor of the page before. @default the newest entries */
  readonly cursor?: string;
}

/** A page of a trail, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The start of the next page, or null for the last one. */
  readonly cursor: string | null;
}

/** The position of an entry in a trail. */
export interface AuditCursor {
  /** Unix ms. */
  readonly at: number;
  /** Number of the entry in its log. */
  readonly sequence: number;
  readonly log: number;
}

const cursorShape = /^([1-9]\d{0,13})-(\d{1,15})\.(\d{1,2})$/;

/** Checks a cursor. */
export const AuditCursorSchema = v.pipe(
  v.string(),
  v.description("Cursor of the page before"),
  v.regex(cursorShape, "Expected the cursor of a page"),
);

/** Writes the cursor of the page after an entry. */
export function formatCursor({ at, sequence, log }: AuditCursor): string {
  return `${at}-${sequence}.${log}`;
}

/**
 * Parses a cursor.
 *
 * @throws {AppError} `validation_failed`: the text is no cursor.
 */
export function parseCursor(text: string): AuditCursor {
  const [, at, sequence, log] = cursorShape.exec(text) ?? [];
  if (at === undefined || sequence === undefined || log === undefined) {
    throw new AppError(
      "validation_failed",
      "Cannot read the trail from there as the cursor is not of a page",
    );
  }
  return { at: Number(at), sequence: Number(sequence), log: Number(log) };
}
