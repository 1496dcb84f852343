/**
 * The audit trail: every attempt at an identity operation, whatever came of it, without secrets.
 *
 * @module
 */

import type { ErrorCode } from "../../errors/mod.ts";

/** What an operation tells the trail about whom it worked for, as far as it knows. */
export interface AuditFacts {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly deviceId?: string;
}

/** One attempt. */
export interface AuditEntry extends AuditFacts {
  /** Unix ms. */
  readonly at: number;
  /** What was tried, for example `login`. */
  readonly event: string;
  readonly outcome: "ok" | ErrorCode;
  readonly provider: string;
  /** Who did it, where it was not the user: the id of an API key. */
  readonly actor?: string;
  /** The /24 (IPv4) or /64 (IPv6) network of the client. */
  readonly addressTag?: string;
  /** A keyed hash of the user agent: tells two apart, names none. */
  readonly userAgentTag?: string;
  readonly requestId: string;
}

/** Which part of a trail to read. */
export interface AuditPageOptions {
  /** @default 50 */
  readonly limit?: number;
  /** The cursor of the page before; omitted: the newest entries. */
  readonly cursor?: string;
}

/** A part of a trail, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where the next page begins; null where nothing is left. */
  readonly cursor: string | null;
}

/** Records attempts and reads them back. */
export interface Audit {
  /**
   * Records in the background; bounded, and never fails or delays a request. The entry goes to the trail of the project,
   * and to that of its user unless it `isOfProjectAlone`. Attempts that a limit refused are recorded once a minute.
   */
  record(projectId: string, entry: AuditEntry, options?: { readonly isOfProjectAlone?: boolean }): void;
  /** The trail of one user. */
  ofUser(projectId: string, userId: string, page?: AuditPageOptions): Promise<AuditPage>;
  /** The trail of a project. */
  ofProject(projectId: string, page?: AuditPageOptions): Promise<AuditPage>;
  /** Resolves when everything recorded so far is stored or given up. */
  idle(): Promise<void>;
}
