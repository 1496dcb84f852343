/**
 * What has become of a bulk request.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import { BulkAnswerSchema, batchSummary } from "../batch/results.ts";
import type { AudienceContext } from "./context.ts";

const Params = v.object({
  batchId: v.pipe(v.string(), v.regex(/^bat_[0-9a-f-]{36}$/, "Expected the id of a bulk request")),
});

/** Builds the route. */
export function batchStatusRoute({ guards, batches }: AudienceContext): AnyRoute {
  return looseRoute({
    method: "GET",
    path: "/v1/api/audience/internal/actions/:batchId",
    operation: "getActionBatch",
    summary: "What has become of the actions of a bulk request, for a day",
    auth: guards.privateAudience("actions:write"),
    params: Params,
    responses: {
      200: {
        description: "Each action is queued, succeeded, or failed with the reason",
        schema: BulkAnswerSchema,
      },
    },
    errors: ["not_found", "validation_failed"],
    handle: async ({ principal: { space }, params: { batchId } }) => {
      const place = { organisationId: space.organisationId, spaceId: space.id, batchId };
      const results = await batches.find(place);
      if (results === null) {
        throw new AppError("not_found", "Cannot find the bulk request: it is unknown, or was a day ago");
      }
      return envelope(batchSummary(batchId, results));
    },
  });
}
