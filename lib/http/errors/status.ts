/**
 * The HTTP status of each error code.
 *
 * @module
 */

import type { ErrorCode } from "../../base/errors/mod.ts";

/** The HTTP meaning of an error code. */
export interface ErrorFacts {
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
export const retryAfterMsDefault = 1_000;
