/** The record of an export. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { type Keys, seal, unseal } from "../../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../../auth/mod.ts";
import { AppError, type ErrorCode } from "../../../base/errors/mod.ts";
import { type Immutable, named } from "../../../http/mod.ts";
import { type Partition, type Store, tenantPartition, type Write } from "../../../storage/mod.ts";
import { keyName, platformPartition } from "../../../storage/names.ts";
import type { ExportFormat } from "../file/rows.ts";
import type { ExportSecret } from "../file/secret.ts";
import type { ExportRecipients } from "./settings.ts";

export interface ExportRequest {
  /** The space whose metrics, sets and challenges filter and fields name. */
  readonly spaceId: string;
  /** Omitted: all users. */
  readonly filter?: unknown;
  /** The columns, fixed at the time of the request. */
  readonly fields: readonly string[];
  readonly format: ExportFormat;
  readonly encrypt: boolean;
  readonly notify: ExportRecipients | null;
}

/** A stored part of the file: the fencing token of its writer, and its size. */
export type PartRef = readonly [fence: number, bytes: number];

/** A point of the walk over the users at which a part of the file ends. */
export interface Checkpoint {
  /** Cursor of the next users; null at the beginning and at the end. */
  readonly cursor: string | null;
  readonly rows: number;
  readonly examined: number;
  /** Bytes of the file before encryption. */
  readonly position: number;
  /** Up to two bytes of ciphertext, in Base64, that wait for a third. */
  readonly rest: string;
}

export interface ExportProgress extends Checkpoint {
  readonly parts: readonly PartRef[];
  /** True if the parts hold all rows. */
  readonly isWhole: boolean;
  /** The checkpoint before the last part, until that part is known to be stored. */
  readonly before: Checkpoint | null;
}

export interface ExportResult {
  readonly rowCount: number;
  readonly fileSize: number;
  /** Of the whole file, 64 hexadecimal digits. */
  readonly sha256: string;
  /** Unix ms. */
  readonly completedAt: number;
}

export interface ExportFault {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A pending notification about a finished or failed export. */
export interface ExportNotification {
  readonly kind: "mail" | "password" | "webhook" | "announcement";
  /** An address; empty for services, which the settings name. */
  readonly to: string;
  /** True if it contains the password; for the webhook, the settings decide. */
  readonly hasPassword: boolean;
  readonly tries: number;
}

/** An export. All times are Unix ms. */
export interface ExportJob extends ExportRef {
  readonly request: ExportRequest;
  /** The API key that requested it. */
  readonly keyId: string;
  /** The public URL of the platform, with which links in notifications begin. */
  readonly origin: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly removeAt: number;
  readonly status: "processing" | "completed" | "failed" | "expired";
  /** The fencing token: each acquisition raises it, and only the highest may write. */
  readonly fence: number;
  /** Counts the writes of the job. */
  readonly revision: number;
  readonly lease: { readonly holder: string; readonly until: number } | null;
  /** Acquisitions since the last progress. */
  readonly tries: number;
  /** The next time at which the job is due while it is unfinished or has pending notifications. */
  readonly nextAt: number;
  /** Number of users at the time of the request. */
  readonly total: number;
  readonly progress: ExportProgress;
  /** Users examined when the lease was renewed last, beyond the stored parts; absent before that. */
  readonly examined?: number;
  /** The part that holds the header of an encrypted file. */
  readonly head: PartRef | null;
  /** Names of parts that do not belong to the file but may be stored. */
  readonly strays: readonly string[];
  readonly result: ExportResult | null;
  readonly error: ExportFault | null;
  /** Absent from jobs of earlier releases. */
  readonly failedAt?: number;
  /** Pending notifications. */
  readonly messages: readonly ExportNotification[];
}

export const noProgress: ExportProgress = {
  cursor: null,
  rows: 0,
  examined: 0,
  position: 0,
  rest: "",
  parts: [],
  isWhole: false,
  before: null,
};

export function parseJob(text: string): ExportJob {
  return JSON.parse(text) as ExportJob;
}

/** Returns the status at a time: a password and its link expire by the clock, not when the job is processed. */
export function statusAt({ status, expiresAt }: ExportJob, now: number): ExportJob["status"] {
  return status === "completed" && now >= expiresAt ? "expired" : status;
}

export function nextDueAt({
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
  const isUnfinished = progress.parts.length > 0 || head !== null || messages.length > 0;
  return status === "failed" && isUnfinished ? Math.min(nextAt, removeAt) : removeAt;
}

/** Codes of faults that a retry cannot fix: the request is wrong, and the caller may read why. */
const permanentCodes: ReadonlySet<ErrorCode> = new Set([
  "limit_reached",
  "validation_failed",
  "not_available",
]);

/** Returns the fault of an error that a retry cannot fix; null for any other error. */
export function permanentFault(error: unknown): ExportFault | null {
  if (!(error instanceof AppError) || !permanentCodes.has(error.code)) return null;
  const details = error.fields?.map(({ pointer, detail }) => `${pointer}: ${detail}`) ?? [];
  return { code: error.code, message: [error.message, ...details].join("; ") };
}

export function faultOf(error: unknown): ExportFault {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: "Something unexpected failed" };
}

/** Returns the fault as notifications show it, without internal details. */
export function publicFault({ code, message }: ExportFault): ExportFault {
  return {
    code,
    message: permanentCodes.has(code) ? message : "The file could not be created; request it again",
  };
}

export const exportKeys = {
  /** Board: exports by the time of their request. */
  jobs: "jobs",
  /** Record: the ids of unfinished exports. */
  open: "open",
  /** Log: requests, results and downloads. */
  trail: "trail",
  /** Board: exports of all organisations by the time at which they are due. */
  due: "due",
} as const;

export interface ExportRef {
  readonly organisationId: string;
  readonly exportId: string;
}

/** Returns the partition of an organisation's exports: a job, the bound on open jobs and the trail change in one commit. */
export function exportsPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "exports");
}

export function duePartition(): Partition {
  return platformPartition("exports");
}

export function jobKey(exportId: string): string {
  return keyName("job", exportId);
}

/** Returns the key of a sealed password, which expires before its job. */
export function secretKey(exportId: string): string {
  return keyName("secret", exportId);
}

/** Returns the member of the due queue for an export. Ids of organisations have no slash. */
export function dueMember({ organisationId, exportId }: ExportRef): string {
  return `${organisationId}/${exportId}`;
}

export function parseDueMember(member: string): ExportRef {
  const slash = member.indexOf("/");
  return { organisationId: member.slice(0, slash), exportId: member.slice(slash + 1) };
}

/** The keys that seal and open secrets, and the randomness for it. */
export interface SecretSeal {
  readonly keys: Keys;
  readonly random: RandomBytes;
}

export async function sealSecret(
  { keys, random }: SecretSeal,
  ref: ExportRef,
  { password, salt, iv }: ExportSecret,
): Promise<string> {
  const text = [password, bytesToHex(salt), bytesToHex(iv)].join(" ");
  return await seal(keys[0], text, { context: contextOf(ref), random });
}

/** Opens a sealed secret; returns null if it is missing, of another job, or sealed under another master secret. */
export async function openSecret(
  { keys }: Pick<SecretSeal, "keys">,
  ref: ExportRef,
  sealed: string | null,
): Promise<ExportSecret | null> {
  if (sealed === null) return null;
  const text = await unseal(keys, sealed, { context: contextOf(ref) });
  const [password, salt, iv] = text?.split(" ") ?? [];
  if (password === undefined || salt === undefined || iv === undefined) return null;
  return { password, salt: hexToBytes(salt), iv: hexToBytes(iv) };
}

function contextOf({ organisationId, exportId }: ExportRef): readonly string[] {
  return ["export", organisationId, exportId];
}

/** Most entries of an organisation's trail; the oldest are dropped. */
const trailEntriesMax = 10_000;
const pageDefault = 50;

const optionalText = (description: string) => v.exactOptional(v.pipe(v.string(), v.description(description)));

/** An event in the life of an export, or a copy of a user's data, as clients see it. */
export const TrailEntrySchema = named(
  "ExportTrailEntry",
  v.object({
    at: v.pipe(v.string(), v.isoTimestamp()),
    event: v.picklist(["requested", "completed", "failed", "downloaded", "expired", "removed", "user_data"]),
    exportId: optionalText("The export, unless data of a single user was sent"),
    userId: optionalText("The user whose data was sent"),
    actor: optionalText("API key that requested the export or the data"),
    requestId: v.exactOptional(v.string()),
    addressTag: optionalText("Network of the client that downloaded it"),
    range: optionalText("Requested bytes, `first-last`"),
    format: v.exactOptional(v.string()),
    encrypted: v.exactOptional(v.boolean()),
    rowCount: v.exactOptional(v.pipe(v.number(), v.integer())),
    reason: optionalText("Error code of a failure"),
  }),
);

/** An event in the life of an export. Its time is Unix ms. */
export type TrailEntry = Immutable<
  Omit<v.InferOutput<typeof TrailEntrySchema>, "at"> & { readonly at: number }
>;

/** A page of the trail, newest first. */
export interface TrailPage {
  readonly entries: readonly TrailEntry[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export function appendEntry(entry: TrailEntry): Write {
  const { trail } = exportKeys;
  return {
    type: "append",
    key: trail,
    value: JSON.stringify(entry),
    at: entry.at,
    maxLength: trailEntriesMax,
  };
}

/** Reads a page of an organisation's trail. @throws {AppError} `validation_failed`: the cursor is of no page. */
export async function readTrail(
  store: Store,
  organisationId: string,
  { limit = pageDefault, cursor }: PageRequest,
): Promise<TrailPage> {
  if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) {
    throw invalidCursor("Cannot read the trail from there");
  }
  const [found] = await store.read(exportsPartition(organisationId), [
    {
      type: "log",
      key: exportKeys.trail,
      limit: limit + 1,
      reverse: true,
      ...(cursor === undefined ? {} : { cursor }),
    },
  ]);
  const page = found.slice(0, limit);
  return {
    entries: page.map(({ value }) => JSON.parse(value) as TrailEntry),
    cursor: found.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

export function invalidCursor(message: string): AppError {
  return new AppError("validation_failed", message, {
    fields: [{ pointer: "lastEvaluatedKey", detail: "Expected the lastEvaluatedKey of a page" }],
  });
}
