/**
 * Exports of users for back ends.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, type Guard, looseRoute } from "../../http/mod.ts";
import { webhookSecretText } from "../../outbound/webhook_signature.ts";
import type { Exports } from "../exports.ts";
import { exportPageMax } from "../jobs/jobs.ts";
import { trailPageMax } from "../jobs/trail.ts";
import { acceptedDocument, exportDocument, fullDocument, trailDocument } from "./documents.ts";
import {
  AcceptedSchema,
  ExportBodySchema,
  ExportSchema,
  ExportsPageSchema,
  TrailPageSchema,
  WebhookSchema,
} from "./schema.ts";

/** A back end, as the guards of the audience API know it. */
export interface ExportCaller {
  readonly space: { readonly id: string; readonly organisationId: string };
  readonly keyId: string;
}

/** What the routes work with. */
export interface ExportRoutesContext {
  readonly exports: Exports;
  /** Demands the permission `users:export`. */
  readonly exporter: Guard<ExportCaller>;
  /** Demands the permission `users:read`. */
  readonly reader: Guard<ExportCaller>;
}

/** Builds the routes of exports. */
export function exportRoutes({ exports, exporter, reader }: ExportRoutesContext): readonly AnyRoute[] {
  const { clock } = exports;
  return [
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/users/export",
      operation: "exportAudienceUsers",
      summary: "Export up to 1,000,000 users into a file, once under an idempotency key",
      auth: exporter,
      body: { schema: ExportBodySchema },
      responses: { 202: { description: "The export was accepted", schema: AcceptedSchema } },
      errors: ["limit_reached", "not_available", "rate_limited", "idempotency_mismatch"],
      handle: async ({ principal, body, requestId, idempotencyKey }) => {
        const { keyId, space } = principal;
        const { id: spaceId, organisationId } = space;
        const { filter, fields, format, encrypt, notify = null } = body;
        const order = { organisationId, spaceId, keyId, requestId, idempotencyKey };
        const job = await exports.request({ ...order, filter, fields, format, encrypt, notify });
        return envelope(acceptedDocument(job, clock()), { status: 202 });
      },
    }),
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/exports/:exportId",
      operation: "getAudienceExport",
      summary: "An export: how far it is, and once it is completed a link of 15 minutes and the password",
      auth: reader,
      params: v.object({ exportId: v.string() }),
      responses: { 200: { description: "The export", schema: ExportSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params }) => {
        const { organisationId } = principal.space;
        const exportId = params.exportId.toLowerCase();
        const found = isUuid(exportId) ? await exports.find({ organisationId, exportId }) : null;
        if (found === null) throw unknownExport();
        return envelope(fullDocument(found, exports));
      },
    }),
    ...listRoutes({ exports, exporter, reader }),
  ];
}

function listRoutes({ exports, exporter, reader }: ExportRoutesContext): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/exports",
      operation: "listAudienceExports",
      summary:
        "The exports of the organisation that are not removed, newest first, without links and passwords",
      auth: reader,
      query: pageQuery(exportPageMax),
      responses: { 200: { description: "A page of exports", schema: ExportsPageSchema } },
      handle: async ({ principal, query }) => {
        const { jobs, cursor } = await exports.list(principal.space.organisationId, pageOf(query));
        const now = exports.clock();
        const data = jobs.filter(({ removeAt }) => now < removeAt).map(job => exportDocument(job, now));
        return { status: 200, json: { message: "OK", data, lastEvaluatedKey: cursor } };
      },
    }),
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/export-trail",
      operation: "listAudienceExportTrail",
      summary: "Who asked for exports, what came of them and who fetched them, newest first",
      auth: exporter,
      query: pageQuery(trailPageMax),
      responses: { 200: { description: "A page of the trail", schema: TrailPageSchema } },
      handle: async ({ principal, query }) => {
        const { entries, cursor } = await exports.trail(principal.space.organisationId, pageOf(query));
        const data = entries.map(trailDocument);
        return { status: 200, json: { message: "OK", data, lastEvaluatedKey: cursor } };
      },
    }),
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/export-webhook",
      operation: "getAudienceExportWebhook",
      summary: "The service that is told of finished exports, with the secret that it verifies messages with",
      auth: exporter,
      responses: { 200: { description: "The service", schema: WebhookSchema } },
      errors: ["not_found"],
      handle: async ({ principal }) => {
        const { organisationId } = principal.space;
        const { webhook } = await exports.settings(organisationId);
        if (webhook === null) {
          throw new AppError(
            "not_found",
            "Cannot find a webhook: the settings of the organisation have none for exports",
          );
        }
        return envelope({ ...webhook, secret: webhookSecretText(exports.webhookKey(organisationId)) });
      },
    }),
  ];
}

type PageQuery = v.InferOutput<ReturnType<typeof pageQuery>>;

function pageQuery(limitMax: number) {
  return v.object({
    limit: v.optional(
      v.pipe(
        v.string(),
        v.regex(/^\d{1,4}$/, `Expected a number from 1 to ${limitMax}`),
        v.transform(Number),
        v.minValue(1),
        v.maxValue(limitMax),
      ),
    ),
    lastEvaluatedKey: v.optional(v.string()),
  });
}

function pageOf({ limit, lastEvaluatedKey: cursor }: PageQuery): {
  readonly limit?: number;
  readonly cursor?: string | undefined;
} {
  return { ...(limit === undefined ? {} : { limit }), cursor };
}

function unknownExport(): AppError {
  return new AppError("not_found", "Cannot find the export: the organisation has none of this id");
}
