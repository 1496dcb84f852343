/** Bodies and answers of the export API. */

import * as v from "valibot";
import { isoTime, isoTimeOrNull } from "../../../base/calendar/mod.ts";
import { named } from "../../../http/mod.ts";
import type { Exports, FoundExport } from "../exports.ts";
import { exportFormats } from "../file/rows.ts";
import { keyIterations } from "../file/secret.ts";
import { type ExportJob, statusAt, type TrailEntry, TrailEntrySchema } from "../jobs/job.ts";
import { RecipientsSchema } from "../jobs/settings.ts";

const linkMs = 15 * 60_000;
/** Most fields of an export, and of a search. */
const fieldsMax = 200;
const fieldCharactersMax = 200;

const integer = v.pipe(v.number(), v.integer());
const time = v.pipe(v.string(), v.isoTimestamp());
const format = v.pipe(v.picklist(exportFormats), v.description("Format of the rows"));
const message = v.string();
const lastEvaluatedKey = v.pipe(
  v.nullable(v.string()),
  v.description("Pass it as `lastEvaluatedKey` to get the next page; null on the last page"),
);

export const ExportBodySchema = named(
  "ExportRequest",
  v.strictObject({
    filter: v.pipe(
      v.exactOptional(v.unknown()),
      v.description(
        "A condition over users or its short form, as in the search of users. Omitted: all users",
      ),
    ),
    fields: v.pipe(
      v.exactOptional(
        v.pipe(
          v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(fieldCharactersMax))),
          v.minLength(1),
          v.maxLength(fieldsMax),
        ),
      ),
      v.description("The columns in their order. Omitted: the fields that a search returns"),
    ),
    format,
    encrypt: v.pipe(
      v.optional(v.boolean(), true),
      v.description("Encrypts the file under a generated password"),
    ),
    notify: v.pipe(
      v.exactOptional(named("ExportRecipients", RecipientsSchema)),
      v.description("Recipients of mails. Omitted: those of the organisation's settings"),
    ),
  }),
);

const accepted = {
  exportId: v.string(),
  status: v.picklist(["processing", "completed", "failed", "expired"]),
  format,
  encrypted: v.boolean(),
  createdAt: time,
  expiresAt: v.pipe(time, v.description("End of the link and the password")),
};

const ExportSchema = named(
  "Export",
  v.object({
    ...accepted,
    progress: v.object({
      processed: v.pipe(integer, v.description("Users examined so far")),
      total: v.pipe(integer, v.description("Users to examine")),
    }),
    rowCount: v.nullable(integer),
    fileSize: v.pipe(v.nullable(integer), v.description("Size of the file in bytes")),
    sha256: v.pipe(v.nullable(v.string()), v.description("Digest of the file in hexadecimal digits")),
    completedAt: v.nullable(time),
    encryption: v.pipe(
      v.nullable(
        v.object({
          algorithm: v.string(),
          kdf: v.string(),
          iterations: integer,
          encoding: v.string(),
          layout: v.string(),
        }),
      ),
      v.description("Parameters that open the file; null if it is not encrypted"),
    ),
    error: v.pipe(
      v.nullable(v.object({ code: v.string(), message: v.string() })),
      v.description("Reason of a failure"),
    ),
    downloadUrl: v.exactOptional(
      v.pipe(v.string(), v.url(), v.description("Link to the file, new each time")),
    ),
    downloadUrlExpiresAt: v.exactOptional(time),
    password: v.exactOptional(v.pipe(v.string(), v.description("Password of the file"))),
  }),
);

export const AcceptedAnswer = named(
  "AcceptedExportReply",
  v.object({ message, data: named("AcceptedExport", v.object(accepted)) }),
);
export const ExportAnswer = named("ExportReply", v.object({ message, data: ExportSchema }));
export const ExportPageAnswer = named(
  "ExportsPage",
  v.object({ message, data: v.array(ExportSchema), lastEvaluatedKey }),
);
export const TrailPageAnswer = named(
  "ExportTrailPage",
  v.object({ message, data: v.array(TrailEntrySchema), lastEvaluatedKey }),
);
/** The answer with the service that receives events about exports. */
export const ExportWebhookAnswer = named(
  "ExportWebhookReply",
  v.object({
    message,
    data: named(
      "ExportWebhook",
      v.object({
        url: v.string(),
        includePassword: v.pipe(
          v.boolean(),
          v.description("Events contain the password in addition to the link"),
        ),
        secret: v.pipe(v.string(), v.description("Secret in the format of Standard Webhooks, `whsec_…`")),
      }),
    ),
  }),
);

export function acceptedDocument(job: ExportJob, now: number): v.InferOutput<typeof AcceptedAnswer>["data"] {
  return {
    exportId: job.exportId,
    status: statusAt(job, now),
    format: job.request.format,
    encrypted: job.request.encrypt,
    createdAt: isoTime(job.createdAt),
    expiresAt: isoTime(job.expiresAt),
  };
}

/** Describes an export without link and password. */
export function exportDocument(job: ExportJob, now: number): v.InferOutput<typeof ExportSchema> {
  const { progress, total, result, request, error } = job;
  const processed = Math.max(job.examined ?? 0, progress.examined);
  return {
    ...acceptedDocument(job, now),
    progress: { processed, total: Math.max(total, processed) },
    rowCount: result?.rowCount ?? null,
    fileSize: result?.fileSize ?? null,
    sha256: result?.sha256 ?? null,
    completedAt: isoTimeOrNull(result?.completedAt ?? null),
    encryption: request.encrypt
      ? {
          algorithm: "AES-256-GCM",
          kdf: "PBKDF2-HMAC-SHA-256",
          iterations: keyIterations,
          encoding: "base64",
          layout: "salt:iv:authTag:encryptedData",
        }
      : null,
    error,
  };
}

/** Describes an export with a new link and the password, while it has them. */
export function fullDocument(
  { job, password }: FoundExport,
  exports: Pick<Exports, "linkOf" | "clock">,
): v.InferOutput<typeof ExportSchema> {
  const now = exports.clock();
  const document = exportDocument(job, now);
  if (document.status !== "completed") return document;
  const until = Math.min(now + linkMs, job.expiresAt);
  return {
    ...document,
    downloadUrl: exports.linkOf(job, until),
    downloadUrlExpiresAt: isoTime(until),
    ...(password === null ? {} : { password }),
  };
}

export function trailDocument({ at, ...entry }: TrailEntry): v.InferOutput<typeof TrailEntrySchema> {
  return { at: isoTime(at), ...entry };
}
