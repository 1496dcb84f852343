/**
 * An export as it is stored.
 *
 * @module
 */

import type { ErrorCode } from "../../errors/mod.ts";
import type { ExportFormat } from "../file/mod.ts";
import type { ExportAddress } from "./partitions.ts";

/** Who is told by mail, and how. */
export interface ExportNotice {
  readonly email: string;
  /**
   * Where the password goes instead, in a mail of its own; null: into no mail at all. Omitted: into the same mail as the
   * link.
   */
  readonly passwordEmail?: string | null;
}

/** What was asked for. */
export interface ExportRequest {
  /** The space whose metrics, sets and challenges filter and fields name. */
  readonly spaceId: string;
  /** Omitted: all users. */
  readonly filter?: unknown;
  /** The columns, decided when the export was asked for, so that they stay the same whatever is configured meanwhile. */
  readonly fields: readonly string[];
  readonly format: ExportFormat;
  readonly encrypt: boolean;
  readonly notify: ExportNotice | null;
}

/** A stored part of the file: who wrote it, by the fencing token, and its bytes. */
export type PartRef = readonly [fence: number, bytes: number];

/** A point of the walk over the users at which a part of the file ends. */
export interface Milestone {
  /** Where the walk goes on; null at the beginning, and at the end. */
  readonly cursor: string | null;
  readonly rows: number;
  readonly examined: number;
  /** Bytes of the file before encryption. */
  readonly position: number;
  /** Up to two bytes of ciphertext, in Base64, that wait for a third before they can be written as Base64. */
  readonly rest: string;
}

/** How far the file has come. */
export interface Progress extends Milestone {
  readonly parts: readonly PartRef[];
  /** Whether all rows are in the parts. */
  readonly isWhole: boolean;
  /** The milestone before the last part, as long as nobody has confirmed that this part is stored. */
  readonly before: Milestone | null;
}

/** A finished file. */
export interface ExportResult {
  readonly rowCount: number;
  readonly fileSize: number;
  /** Of the whole file, 64 hexadecimal digits. */
  readonly sha256: string;
  /** Unix ms. */
  readonly completedAt: number;
}

/** Why there is no file. */
export interface ExportFault {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Somebody who is to be told that the file is there, or that there will be none. */
export interface Message {
  readonly kind: "mail" | "password" | "webhook" | "announcement";
  /** An address; empty for services, which settings name. */
  readonly to: string;
  /** Whether it holds the password; of the webhook the settings say. */
  readonly hasPassword: boolean;
  readonly tries: number;
}

/** An export. */
export interface ExportJob extends ExportAddress {
  readonly request: ExportRequest;
  /** The API key that asked for it. */
  readonly keyId: string;
  /** The address under which whoever asked reached the platform: links of messages begin with it. */
  readonly origin: string;
  /** Unix ms, as are all times. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly removeAt: number;
  readonly status: "processing" | "completed" | "failed" | "expired";
  /** How often the job has been taken: whoever took it later has a higher number, and only the highest may write. */
  readonly fence: number;
  /** Counts the writes of the job. */
  readonly revision: number;
  readonly lease: { readonly holder: string; readonly until: number } | null;
  /** How often it was taken since it last got on. */
  readonly tries: number;
  /** When to look at it next, while it is not finished or messages wait. */
  readonly nextAt: number;
  /** Number of users when it was asked for. */
  readonly total: number;
  readonly progress: Progress;
  /** The part that stands before the others, where the file is encrypted. */
  readonly head: PartRef | null;
  /** Names of parts that do not belong to the file and may be stored all the same. */
  readonly strays: readonly string[];
  readonly result: ExportResult | null;
  readonly error: ExportFault | null;
  /** When it failed; jobs of earlier releases do not say. */
  readonly failedAt?: number;
  /** Who has yet to be told. */
  readonly messages: readonly Message[];
}

/** The beginning of every file. */
export const noProgress: Progress = {
  cursor: null,
  rows: 0,
  examined: 0,
  position: 0,
  rest: "",
  parts: [],
  isWhole: false,
  before: null,
};

/** The job of a stored text. */
export function parseJob(text: string): ExportJob {
  return JSON.parse(text) as ExportJob;
}

/** The state of a job at a time: the password and the link end by the clock, not when somebody notices. */
export function statusAt({ status, expiresAt }: ExportJob, now: number): ExportJob["status"] {
  return status === "completed" && now >= expiresAt ? "expired" : status;
}

/** When somebody has to look at the job next. */
export function nextLook({
  status,
  nextAt,
  expiresAt,
  removeAt,
  messages,
  progress,
  head,
}: ExportJob): number {
  if (status === "processing") return Math.min(nextAt, expiresAt);
  if (status === "completed") return messages.length === 0 ? expiresAt : Math.min(nextAt, expiresAt);
  const isLeft = progress.parts.length > 0 || head !== null || messages.length > 0;
  return status === "failed" && isLeft ? Math.min(nextAt, removeAt) : removeAt;
}
