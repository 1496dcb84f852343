import type { ErrorCode } from "../../base/errors/mod.ts";
import { type ErrorFamily, type ErrorReport, fieldErrorSchema } from "./family.ts";

/** The next step for a client, so that it keeps its session through a transient error. */
type Action = "retry" | "refresh" | "login" | "none";

const actions: Partial<Readonly<Record<ErrorCode, Action>>> = {
  missing_token: "login",
  invalid_token: "login",
  token_expired: "refresh",
  session_revoked: "login",
  refresh_token_reused: "login",
  device_mismatch: "login",
  reauth_required: "login",
};

/**
 * Errors of identity and location: `{result: 0, message, data: {code, retryable, action, retryAfter?, fields?}}`; details
 * of the error are further members of `data`.
 */
export const identityFamily: ErrorFamily = {
  mediaType: "application/json",
  successMediaType: "application/json",
  schemaName: "IdentityError",
  schema: {
    type: "object",
    required: ["result", "message", "data"],
    properties: {
      result: { const: 0 },
      message: { type: "string" },
      data: {
        type: "object",
        required: ["code", "retryable", "action"],
        properties: {
          code: { type: "string" },
          retryable: { type: "boolean" },
          action: { enum: ["retry", "refresh", "login", "none"] },
          retryAfter: { type: "integer", description: "Seconds" },
          fields: { type: "array", items: fieldErrorSchema },
        },
      },
    },
  },
  body: identityBody,
};

function identityBody(failure: ErrorReport): unknown {
  return {
    result: 0,
    message: failure.message,
    data: {
      ...failure.details,
      code: failure.code,
      retryable: failure.retryable,
      action: actions[failure.code] ?? (failure.retryable ? "retry" : "none"),
      ...(failure.retryAfter === undefined ? {} : { retryAfter: failure.retryAfter }),
      ...(failure.fields === undefined ? {} : { fields: failure.fields }),
    },
  };
}
