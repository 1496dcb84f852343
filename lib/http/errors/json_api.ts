import type { ErrorCode, FieldError } from "../../base/errors/mod.ts";
import { jsonApiMediaType } from "../requests/body.ts";
import type { ErrorFamily, ErrorReport } from "./family.ts";

/** Header fields by the codes that concern them. */
const headerOf: Partial<Readonly<Record<ErrorCode, string>>> = {
  unsupported_media_type: "Content-Type",
  precondition_failed: "If-Match",
  precondition_required: "If-Match",
  missing_api_key: "X-API-Key",
  invalid_api_key: "X-API-Key",
};

/**
 * Errors of the control API as JSON:API 1.1 writes them: one object of `errors` for each fault, all with the same
 * code, status and title. `source` locates the fault. Details of the error are members of `meta`.
 */
export const jsonApiFamily: ErrorFamily = {
  mediaType: jsonApiMediaType,
  successMediaType: jsonApiMediaType,
  schemaName: "JsonApiErrors",
  schema: {
    type: "object",
    required: ["errors"],
    properties: {
      errors: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["id", "status", "code", "title", "detail"],
          properties: {
            id: { type: "string", description: "Id of the request, for logs and support" },
            status: { type: "string", pattern: "^[45][0-9]{2}$" },
            code: { type: "string" },
            title: { type: "string" },
            detail: { type: "string" },
            source: {
              type: "object",
              properties: {
                pointer: { type: "string", description: "JSON Pointer into the body" },
                parameter: { type: "string", description: "Name of a query or path parameter" },
                header: { type: "string", description: "Name of a header field" },
              },
            },
            meta: { type: "object" },
          },
        },
      },
      meta: { type: "object" },
    },
  },
  body: jsonApiBody,
};

function jsonApiBody(failure: ErrorReport): unknown {
  const { code, fields, details } = failure;
  const header = headerOf[code];
  const errors =
    fields === undefined || fields.length === 0
      ? [error(failure, failure.message, header === undefined ? undefined : { header })]
      : fields.map(field => fieldError(failure, field));
  return details === undefined ? { errors } : { errors, meta: details };
}

function fieldError(failure: ErrorReport, { pointer, detail, reason }: FieldError): unknown {
  // An empty pointer is the body as a whole.
  const source = pointer === "" || pointer.startsWith("/") ? { pointer } : { parameter: pointer };
  return { ...error(failure, detail, source), ...(reason === undefined ? {} : { meta: { reason } }) };
}

function error(
  { requestId, status, code, title }: ErrorReport,
  detail: string,
  source: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, unknown>> {
  const facts = { id: requestId, status: String(status), code, title, detail };
  return source === undefined ? facts : { ...facts, source };
}
