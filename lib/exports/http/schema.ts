/** Shapes of the export API. */

import * as v from "valibot";
import { exportFormats } from "../file/mod.ts";
import { NoticeSchema } from "../jobs/settings.ts";

/** Most fields of an export, which the search of users takes as well. */
export const exportFieldsMax = 200;
/** Longest name of a field, in characters. */
export const exportFieldCharactersMax = 200;

/** What a request for an export holds. */
export const ExportBodySchema: v.GenericSchema<ExportBodyInput, ExportBody> = v.strictObject({
  filter: v.exactOptional(v.unknown()),
  fields: v.exactOptional(
    v.pipe(
      v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(exportFieldCharactersMax))),
      v.minLength(1),
      v.maxLength(exportFieldsMax),
    ),
  ),
  format: v.picklist(exportFormats),
  encrypt: v.optional(v.boolean(), true),
  notify: v.exactOptional(NoticeSchema),
});

/** A request for an export as it is sent. */
export interface ExportBodyInput {
  filter?: unknown;
  fields?: string[];
  format: (typeof exportFormats)[number];
  encrypt?: boolean | undefined;
  notify?: v.InferOutput<typeof NoticeSchema>;
}

/** A request for an export. */
export interface ExportBody extends ExportBodyInput {
  encrypt: boolean;
}

const accepted = {
  exportId: v.string(),
  status: v.picklist(["processing", "completed", "failed", "expired"]),
  format: v.picklist(exportFormats),
  encrypted: v.boolean(),
  createdAt: v.string(),
  expiresAt: v.string(),
};

const ExportDocument = v.object({
  ...accepted,
  progress: v.object({ processed: v.number(), total: v.number() }),
  rowCount: v.nullable(v.number()),
  fileSize: v.nullable(v.number()),
  sha256: v.nullable(v.string()),
  completedAt: v.nullable(v.string()),
  encryption: v.nullable(
    v.object({
      algorithm: v.string(),
      kdf: v.string(),
      iterations: v.number(),
      encoding: v.string(),
      layout: v.string(),
    }),
  ),
  error: v.nullable(v.object({ code: v.string(), message: v.string() })),
  downloadUrl: v.optional(v.string()),
  downloadUrlExpiresAt: v.optional(v.string()),
  password: v.optional(v.string()),
});

/** An accepted export in its envelope. */
export const AcceptedSchema: v.GenericSchema = v.object({ message: v.string(), data: v.object(accepted) });
/** An export in its envelope. */
export const ExportSchema: v.GenericSchema = v.object({ message: v.string(), data: ExportDocument });
/** A page of exports. */
export const ExportsPageSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.array(ExportDocument),
  lastEvaluatedKey: v.nullable(v.string()),
});
/** A page of the trail. */
export const TrailPageSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.array(
    v.object({
      at: v.string(),
      event: v.picklist(["requested", "completed", "failed", "downloaded", "expired", "removed"]),
      exportId: v.string(),
      actor: v.exactOptional(v.string()),
      requestId: v.exactOptional(v.string()),
      addressTag: v.exactOptional(v.string()),
      range: v.exactOptional(v.string()),
      format: v.exactOptional(v.string()),
      encrypted: v.exactOptional(v.boolean()),
      rowCount: v.exactOptional(v.number()),
      reason: v.exactOptional(v.string()),
    }),
  ),
  lastEvaluatedKey: v.nullable(v.string()),
});
/** The service that is told of finished exports. */
export const WebhookSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.object({ url: v.string(), includePassword: v.boolean(), secret: v.string() }),
});
