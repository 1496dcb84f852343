/** Turns errors into replies and log lines. */

import { AppError, type ErrorCode, type FieldError, publicMessage } from "../../base/errors/mod.ts";
import type { Logger } from "../logger.ts";
import { jsonApiMediaType } from "../requests/body.ts";
import type { Family, Reply } from "../route.ts";

const causesMax = 4;
/** Maximum length of a path in an error body, in UTF-16 units; a longer path is cut. */
const instanceCharsMax = 1_024;

interface FailureContext {
  readonly family: ErrorFamily;
  /** Undefined: the request has no route. */
  readonly operation: string | undefined;
  readonly challenge: "Bearer" | "ApiKey";
  readonly scopes: readonly string[];
  readonly requestId: string;
  readonly path: string;
  /** Address of the platform, base path included. */
  readonly publicUrl: string;
}

/** Builds the reply to an error. Anything but an {@linkcode AppError} becomes `internal_error` without detail. */
export function failureReply(error: unknown, context: FailureContext): Reply {
  const appError = error instanceof AppError && error.code !== "internal_error" ? error : null;
  const { code, message } = appError ?? { code: "internal_error" as const, message: "" };
  const { status, title, retryable } = errorFacts[code];
  const waits = status === 429 || status === 503;
  const retryAfter = waits ? Math.ceil((appError?.retryAfterMs ?? retryAfterMsDefault) / 1000) : undefined;
  const challenge = challengeOf(code, context);
  return {
    status,
    json: context.family.body({
      code,
      status,
      title,
      message: publicMessage({ code, message }),
      retryable,
      retryAfter,
      fields: appError?.fields,
      details: appError?.details,
      requestId: context.requestId,
      path: context.path.slice(0, instanceCharsMax).toWellFormed(),
      publicUrl: context.publicUrl,
    }),
    headers: {
      "content-type": context.family.mediaType,
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...(challenge === null ? {} : { "www-authenticate": challenge }),
      ...appError?.headers,
    },
  };
}

/** Logs server errors with their causes. Client errors are not logged. */
export function logFailure(error: unknown, context: FailureContext, logger: Logger): void {
  const appError = error instanceof AppError ? error : null;
  if (appError !== null && errorFacts[appError.code].status < 500) return;
  logger.log(appError === null ? "error" : "warn", "request_failed", {
    requestId: context.requestId,
    operation: context.operation,
    code: appError?.code ?? "internal_error",
    error: causesOf(error),
    stack: error instanceof Error ? framesOf(error) : undefined,
  });
}

/** Codes that RFC 6750 reports as `invalid_token`. */
const tokenFaults: ReadonlySet<AppError["code"]> = new Set([
  "invalid_token",
  "session_revoked",
  "refresh_token_reused",
]);

/** Builds `WWW-Authenticate` (RFC 6750, section 3). `error` is present only if a token was sent. */
function challengeOf(code: AppError["code"], { challenge, scopes }: FailureContext): string | null {
  const isOfKey = code === "invalid_api_key" || code === "missing_api_key";
  const isOfToken = tokenFaults.has(code) || code === "token_expired";
  const scheme = isOfKey ? "ApiKey" : isOfToken ? "Bearer" : challenge;
  if (code === "insufficient_scope" && scheme === "Bearer") {
    const scope = scopes.length === 0 ? "" : `, scope="${scopes.join(" ")}"`;
    return `Bearer error="insufficient_scope"${scope}`;
  }
  if (errorFacts[code].status !== 401) return null;
  if (scheme === "Bearer" && code === "token_expired") {
    return 'Bearer error="invalid_token", error_description="The token expired"';
  }
  if (scheme === "Bearer" && tokenFaults.has(code)) return 'Bearer error="invalid_token"';
  return `${scheme} realm="api"`;
}

export function causesOf(error: unknown): string {
  const causes: string[] = [];
  for (let cause = error; cause !== undefined && causes.length < causesMax; ) {
    causes.push(describe(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes.join("; caused by ");
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `thrown ${typeof thrown}`;
  // The message of a SyntaxError quotes the text that did not parse, which may hold secrets.
  return thrown instanceof SyntaxError ? thrown.name : `${thrown.name}: ${thrown.message}`;
}

function framesOf(error: Error): string {
  const stack = error.stack ?? "";
  const frames = stack.indexOf("\n    at ");
  return frames === -1 ? "" : stack.slice(frames + 1);
}

interface ErrorFacts {
  readonly status: number;
  /** Short constant summary, the `title` of RFC 9457. */
  readonly title: string;
  /** True if the same request may succeed later without a change. */
  readonly retryable: boolean;
}

/** HTTP meaning by error code. A code without a row here does not compile. */
export const errorFacts: Readonly<Record<ErrorCode, ErrorFacts>> = {
  bad_json: { status: 400, title: "Body is not readable JSON", retryable: false },
  validation_failed: { status: 400, title: "Invalid request", retryable: false },
  unsupported_provider: { status: 400, title: "Unsupported provider", retryable: false },
  weak_password: { status: 400, title: "Weak password", retryable: false },
  same_password: { status: 400, title: "Same password", retryable: false },
  insufficient_balance: { status: 400, title: "Insufficient balance", retryable: false },
  out_of_stock: { status: 400, title: "Out of stock", retryable: false },
  limit_reached: { status: 400, title: "Limit reached", retryable: false },
  not_available: { status: 400, title: "Not available", retryable: false },
  invalid_code: { status: 400, title: "Invalid code", retryable: false },
  missing_token: { status: 401, title: "Authentication required", retryable: false },
  token_expired: { status: 401, title: "Token expired", retryable: false },
  invalid_token: { status: 401, title: "Invalid token", retryable: false },
  session_revoked: { status: 401, title: "Session ended", retryable: false },
  refresh_token_reused: { status: 401, title: "Refresh token used before", retryable: false },
  invalid_credentials: { status: 401, title: "Invalid credentials", retryable: false },
  social_token_rejected: { status: 401, title: "Social token rejected", retryable: false },
  missing_api_key: { status: 401, title: "Authentication required", retryable: false },
  invalid_api_key: { status: 401, title: "Invalid API key", retryable: false },
  forbidden: { status: 403, title: "Forbidden", retryable: false },
  org_mismatch: { status: 403, title: "Organisation does not match", retryable: false },
  insufficient_scope: { status: 403, title: "Insufficient scope", retryable: false },
  account_banned: { status: 403, title: "Account banned", retryable: false },
  device_mismatch: { status: 403, title: "Another device", retryable: false },
  location_not_supported: { status: 403, title: "Location not supported", retryable: false },
  reauth_required: { status: 403, title: "Recent login required", retryable: false },
  email_not_verified: { status: 403, title: "E-mail not verified", retryable: false },
  registration_disabled: { status: 403, title: "Registration disabled", retryable: false },
  not_found: { status: 404, title: "Not found", retryable: false },
  method_not_allowed: { status: 405, title: "Method not allowed", retryable: false },
  not_acceptable: { status: 406, title: "Not acceptable", retryable: false },
  email_unavailable: { status: 409, title: "E-mail unavailable", retryable: false },
  project_archived: { status: 409, title: "Project archived", retryable: false },
  conflict: { status: 409, title: "Conflict", retryable: true },
  vote_closed: { status: 409, title: "Vote closed", retryable: false },
  vote_limit: { status: 409, title: "Voted as often as allowed", retryable: false },
  code_not_issued: { status: 409, title: "Code not handed out", retryable: false },
  code_used: { status: 409, title: "Code used before", retryable: false },
  code_revoked: { status: 409, title: "Code revoked", retryable: false },
  code_expired: { status: 409, title: "Code expired", retryable: false },
  idempotency_conflict: { status: 409, title: "Request in progress", retryable: true },
  precondition_failed: { status: 412, title: "Changed in the meantime", retryable: false },
  payload_too_large: { status: 413, title: "Body too large", retryable: false },
  unsupported_media_type: { status: 415, title: "Unsupported media type", retryable: false },
  idempotency_mismatch: { status: 422, title: "Idempotency key used otherwise", retryable: false },
  option: { status: 422, title: "Options not possible", retryable: false },
  unprocessable: { status: 422, title: "Unprocessable content", retryable: false },
  precondition_required: { status: 428, title: "Precondition required", retryable: false },
  rate_limited: { status: 429, title: "Too many requests", retryable: true },
  too_many_attempts: { status: 429, title: "Too many attempts", retryable: true },
  internal_error: { status: 500, title: "Internal error", retryable: true },
  provider_error: { status: 502, title: "Provider error", retryable: true },
  provider_unavailable: { status: 503, title: "Provider unavailable", retryable: true },
  provider_timeout: { status: 504, title: "Provider too slow", retryable: true },
  busy: { status: 503, title: "Busy", retryable: true },
  storage_unavailable: { status: 503, title: "Storage unavailable", retryable: true },
  outcome_unknown: { status: 503, title: "Outcome unknown", retryable: true },
};

/** `Retry-After` of 429 and 503 if the error names no time, in ms. */
const retryAfterMsDefault = 1_000;

/** An error with everything that its body may contain. */
interface ErrorReport {
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly retryable: boolean;
  /** Seconds, with 429 and 503. */
  readonly retryAfter: number | undefined;
  readonly fields: readonly FieldError[] | undefined;
  /** Further members of the body. They never replace a standard one. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string;
  /** The request's path as sent, without the query. */
  readonly path: string;
  /** Address of the platform without a slash at its end, or the empty string. */
  readonly publicUrl: string;
}

export interface ErrorFamily {
  readonly mediaType: string;
  readonly successMediaType: string;
  readonly schemaName: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly body: (failure: ErrorReport) => unknown;
}

const fieldErrorSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  required: ["pointer", "detail"],
  properties: {
    pointer: { type: "string", description: "JSON Pointer into the body, or the name of a parameter" },
    detail: { type: "string" },
    reason: { type: "string", description: "Short code of the fault" },
  },
};

/** Registered problem type (IANA, HTTP Problem Types). */
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
    errors: failure.fields,
  };
}

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
const identityFamily: ErrorFamily = {
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
      retryAfter: failure.retryAfter,
      fields: failure.fields,
    },
  };
}

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
const jsonApiFamily: ErrorFamily = {
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
  return { errors, meta: details };
}

function fieldError(failure: ErrorReport, { pointer, detail, reason }: FieldError): unknown {
  // An empty pointer is the body as a whole.
  const source = pointer === "" || pointer.startsWith("/") ? { pointer } : { parameter: pointer };
  return { ...error(failure, detail, source), meta: reason === undefined ? undefined : { reason } };
}

function error(
  { requestId, status, code, title }: ErrorReport,
  detail: string,
  source: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, unknown>> {
  return { id: requestId, status: String(status), code, title, detail, source };
}

export const families: Readonly<Record<Family, ErrorFamily>> = {
  identity: identityFamily,
  problem: problemFamily,
  jsonApi: jsonApiFamily,
};
