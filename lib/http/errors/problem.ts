import { type ErrorFamily, type ErrorReport, fieldErrorSchema } from "./family.ts";

/** Registered problem type for an exhausted quota (IANA, HTTP Problem Types). */
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/**
 * Errors of every other area: RFC 9457 with `code`, `message`, `requestId`, `errors` and the error's details as extension
 * members. `message` repeats `detail` for clients that read the `{message, data}` envelope of successes.
 */
export const problemFamily: ErrorFamily = {
  mediaType: "application/problem+json",
  successMediaType: "application/json",
  schemaName: "Problem",
  schema: {
    type: "object",
    required: ["type", "title", "status", "detail", "instance", "code", "message", "requestId"],
    properties: {
      type: { type: "string", format: "uri-reference" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      instance: { type: "string", format: "uri-reference" },
      code: { type: "string" },
      message: { type: "string" },
      requestId: { type: "string" },
      errors: { type: "array", items: fieldErrorSchema },
    },
  },
  body: problemBody,
};

function problemBody(failure: ErrorReport): unknown {
  return {
    ...failure.details,
    type: failure.code === "rate_limited" ? quotaExceeded : `${failure.publicUrl}/problems/${failure.code}`,
    title: failure.title,
    status: failure.status,
    detail: failure.message,
    instance: failure.path,
    code: failure.code,
    message: failure.message,
    requestId: failure.requestId,
    ...(failure.fields === undefined ? {} : { errors: failure.fields }),
  };
}
