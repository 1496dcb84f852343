/** Exports as back ends see them. */

import type { Exports } from "../exports.ts";
import { keyIterations } from "../file/mod.ts";
import { type ExportJob, statusAt } from "../jobs/job.ts";
import type { FoundExport } from "../jobs/jobs.ts";
import type { TrailEntry } from "../jobs/trail.ts";
import { downloadMs } from "./capability.ts";

const encryptionFacts = {
  algorithm: "AES-256-GCM",
  kdf: "PBKDF2-HMAC-SHA-256",
  iterations: keyIterations,
  encoding: "base64",
  layout: "salt:iv:authTag:encryptedData",
} as const;

/** What is answered at once. */
export function acceptedDocument(job: ExportJob, now: number): Readonly<Record<string, unknown>> {
  return {
    exportId: job.exportId,
    status: statusAt(job, now),
    format: job.request.format,
    encrypted: job.request.encrypt,
    createdAt: isoTime(job.createdAt),
    expiresAt: isoTime(job.expiresAt),
  };
}

/** An export without link and password. */
export function exportDocument(job: ExportJob, now: number): Readonly<Record<string, unknown>> {
  const { progress, total, result, request, error } = job;
  return {
    ...acceptedDocument(job, now),
    progress: { processed: progress.examined, total: Math.max(total, progress.examined) },
    rowCount: result?.rowCount ?? null,
    fileSize: result?.fileSize ?? null,
    sha256: result?.sha256 ?? null,
    completedAt: result === null ? null : isoTime(result.completedAt),
    encryption: request.encrypt ? encryptionFacts : null,
    error,
  };
}

/** An export with a new link and its password, as long as it has them. */
export function fullDocument(
  { job, password }: FoundExport,
  { linkOf, clock }: Pick<Exports, "linkOf" | "clock">,
): Readonly<Record<string, unknown>> {
  const now = clock();
  const document = exportDocument(job, now);
  if (statusAt(job, now) !== "completed") return document;
  const until = Math.min(now + downloadMs, job.expiresAt);
  return {
    ...document,
    downloadUrl: linkOf(job, until),
    downloadUrlExpiresAt: isoTime(until),
    ...(password === null ? {} : { password }),
  };
}

/** An entry of the trail. */
export function trailDocument({ at, ...entry }: TrailEntry): Readonly<Record<string, unknown>> {
  return { at: isoTime(at), ...entry };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
