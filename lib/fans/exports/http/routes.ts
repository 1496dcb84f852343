/** The export API of back ends. */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { webhookSecretText } from "../../../base/outbound/outbound.ts";
import { envelope, type Guard, integerParameter, json, route } from "../../../http/mod.ts";
import type { Exports } from "../exports.ts";
import type { PageRequest } from "../jobs/job.ts";
import {
  AcceptedAnswer,
  acceptedDocument,
  ExportAnswer,
  ExportBodySchema,
  ExportPageAnswer,
  ExportWebhookAnswer,
  exportDocument,
  fullDocument,
  TrailPageAnswer,
  trailDocument,
} from "./export_schemas.ts";
import { type ExportCaller, type UserDataContext, userDataRoute } from "./user_data_routes.ts";

const pageMax = 100;
const pageQuery = v.object({
  limit: v.optional(
    integerParameter({ description: "Most items of the page", minimum: 1, maximum: pageMax }),
  ),
  lastEvaluatedKey: v.optional(
    v.pipe(v.string(), v.description("The `lastEvaluatedKey` of the page before")),
  ),
});

/** Dependencies of the routes. */
export interface ExportRoutesContext extends UserDataContext {
  readonly exports: Exports;
  /** Requires the permission `users:read`. */
  readonly reader: Guard<ExportCaller, "space_id">;
}

/** Creates the routes of exports. */
export function exportRoutes(context: ExportRoutesContext) {
  return [
    requestRoute(context),
    exportRoute(context),
    ...listRoutes(context),
    webhookRoute(context),
    userDataRoute(context),
  ];
}

function requestRoute({ exports, exporter }: ExportRoutesContext) {
  return route({
    method: "POST",
    path: "/v1/api/audience/internal/users/export",
    operation: "exportAudienceUsers",
    summary: "Export up to 1,000,000 users into a file, once per idempotency key",
    auth: exporter,
    description:
      "The file is built in the background. Poll the export, or let it notify you by mail or webhook. A repeated request with the same `Idempotency-Key` returns the same export.",
    body: {
      schema: ExportBodySchema,
      example: {
        format: "csv",
        fields: ["userId", "displayName"],
        filter: { metrics: { points: { min: 1 } } },
        notify: { email: "ops@club.example", passwordEmail: null },
      },
    },
    responses: { 202: { description: "The accepted export", schema: AcceptedAnswer } },
    errors: ["limit_reached", "not_available", "rate_limited", "idempotency_mismatch"],
    handle: async ({ principal, body, requestId, idempotency }) => {
      const { keyId, space } = principal;
      const { id: spaceId, organisationId } = space;
      const { notify = null, ...parameters } = body;
      const caller = { organisationId, spaceId, keyId, requestId, idempotencyKey: idempotency?.key };
      const job = await exports.request({ ...parameters, ...caller, notify });
      return envelope(acceptedDocument(job, exports.clock()), { status: 202 });
    },
  });
}

function exportRoute({ exports, reader }: ExportRoutesContext) {
  return route({
    method: "GET",
    path: "/v1/api/audience/internal/exports/:exportId",
    operation: "getAudienceExport",
    summary: "Get an export with its progress and, once completed, a link and the password",
    description: "Each call returns a new link, valid for 15 minutes or until the export expires.",
    auth: reader,
    params: v.object({ exportId: v.pipe(v.string(), v.description("Id of the export")) }),
    responses: { 200: { description: "The export", schema: ExportAnswer } },
    errors: ["not_found"],
    handle: async ({ principal, params }) => {
      const { organisationId } = principal.space;
      const exportId = params.exportId.toLowerCase();
      const found = isUuid(exportId) ? await exports.find({ organisationId, exportId }) : null;
      if (found === null) {
        throw new AppError("not_found", "Cannot find the export: the organisation has none of this id");
      }
      return envelope(fullDocument(found, exports));
    },
  });
}

function listRoutes({ exports, exporter, reader }: ExportRoutesContext) {
  return [
    route({
      method: "GET",
      path: "/v1/api/audience/internal/exports",
      operation: "listAudienceExports",
      summary: "List the exports of the organisation",
      description: "Newest first, without links and passwords. Removed exports are not listed.",
      auth: reader,
      query: pageQuery,
      responses: { 200: { description: "A page of exports", schema: ExportPageAnswer } },
      handle: async ({ principal, query }) => {
        const { jobs, cursor } = await exports.list(principal.space.organisationId, pageOf(query));
        const now = exports.clock();
        const data = jobs.filter(({ removeAt }) => now < removeAt).map(job => exportDocument(job, now));
        return json(200, { message: "OK", data, lastEvaluatedKey: cursor });
      },
    }),
    route({
      method: "GET",
      path: "/v1/api/audience/internal/export-trail",
      operation: "listAudienceExportTrail",
      summary: "List who requested and downloaded exports, and data of single users",
      description:
        "The newest 10,000 entries of the organisation, newest first, without links and passwords.",
      auth: exporter,
      query: pageQuery,
      responses: { 200: { description: "A page of the trail", schema: TrailPageAnswer } },
      handle: async ({ principal, query }) => {
        const { entries, cursor } = await exports.trail(principal.space.organisationId, pageOf(query));
        const data = entries.map(trailDocument);
        return json(200, { message: "OK", data, lastEvaluatedKey: cursor });
      },
    }),
  ];
}

function webhookRoute({ exports, exporter }: ExportRoutesContext) {
  return route({
    method: "GET",
    path: "/v1/api/audience/internal/export-webhook",
    operation: "getAudienceExportWebhook",
    summary: "Get the service that receives events about exports",
    description: "The service of the organisation's settings, with the secret that verifies events.",
    auth: exporter,
    responses: { 200: { description: "The service", schema: ExportWebhookAnswer } },
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
      return envelope({ ...webhook, secret: webhookSecretText(exports.webhookKeys(organisationId)[0]) });
    },
  });
}

function pageOf({ limit, lastEvaluatedKey }: v.InferOutput<typeof pageQuery>): PageRequest {
  return { limit, cursor: lastEvaluatedKey };
}
