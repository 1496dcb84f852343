/**
 * The closed set of failures that Grandstand reports, shared by every area.
 *
 * A code names the error; the HTTP status, the title and the body of each response family are derived from
 * it in `lib/http`. A caller's programming mistake is a `TypeError` or `RangeError` and carries no code.
 */

/** Every code an {@linkcode AppError} may carry. Clients branch on it; messages are for people. */
export type ErrorCode =
  | "bad_json"
  | "validation_failed"
  | "unsupported_provider"
  | "weak_password"
  | "same_password"
  | "insufficient_balance"
  | "out_of_stock"
  | "limit_reached"
  | "not_available"
  | "invalid_code"
  | "missing_token"
  | "token_expired"
  | "invalid_token"
  | "session_revoked"
  | "refresh_token_reused"
  | "invalid_credentials"
  | "social_token_rejected"
  | "missing_api_key"
  | "invalid_api_key"
  | "forbidden"
  | "org_mismatch"
  | "insufficient_scope"
  | "account_banned"
  | "device_mismatch"
  | "location_not_supported"
  | "reauth_required"
  | "email_not_verified"
  | "registration_disabled"
  | "not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "email_unavailable"
  | "conflict"
  | "project_archived"
  | "vote_closed"
  | "vote_limit"
  | "code_not_issued"
  | "code_used"
  | "code_revoked"
  | "code_expired"
  | "idempotency_conflict"
  | "precondition_failed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "idempotency_mismatch"
  | "option"
  | "unprocessable"
  | "precondition_required"
  | "rate_limited"
  | "too_many_attempts"
  | "internal_error"
  | "provider_error"
  | "provider_unavailable"
  | "provider_timeout"
  | "busy"
  | "storage_unavailable"
  | "outcome_unknown";

/** One thing that is wrong with the input, located by an RFC 6901 JSON Pointer into the body or by a parameter. */
export interface FieldError {
  /** JSON Pointer into the body (`/data/username`), or the name of a query or path parameter. */
  readonly pointer: string;
  /** Explanation of the expected value, for people. */
  readonly detail: string;
  /** Why it is wrong, as a short code for clients that put it in words of their own. */
  readonly reason?: string;
}

/** Details that some codes carry in addition to their message. */
export interface AppErrorOptions {
  /** Cause of this error; logged, never sent. */
  readonly cause?: unknown;
  /** The input fields at fault, with `validation_failed`. */
  readonly fields?: readonly FieldError[];
  /** Further members of the body, as JSON; the route that answers with the code documents them. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** After how many milliseconds a retry may succeed; sent as `Retry-After`, rounded up to seconds. */
  readonly retryAfterMs?: number;
  /** Header fields that the answer must carry, for example `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A failure that a client or operator can act on. `message` says the action, the state, and what is expected. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[] | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterMs: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
    this.headers = options.headers;
  }
}

/** Texts of the codes whose messages may repeat what a store or a library said. */
const concealed: Readonly<Partial<Record<ErrorCode, string>>> = {
  internal_error: "Something unexpected failed: quote the request id to the operator",
  storage_unavailable: "Cannot use the store at the moment: try again later",
  outcome_unknown:
    "Cannot tell if the change was made, as the store did not answer in time: check before you repeat it",
};

/** Returns true for the error of a commit that may or may not have been applied. */
export function isOutcomeUnknown(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "outcome_unknown";
}

/** Returns the text of an error for clients, without what a store, a file system or a library said; logs show the message. */
export function publicMessage({
  code,
  message,
}: {
  readonly code: ErrorCode;
  readonly message: string;
}): string {
  return concealed[code] ?? message;
}

/** Longest key in a JSON Pointer, in UTF-16 units; longer ones are cut, so that an error never repeats an enormous name. */
const pointerKeyCharactersMax = 128;

/** Returns the JSON Pointer (RFC 6901) of a path; the empty path is the whole document. */
export function jsonPointer(...path: readonly (string | number)[]): string {
  return path.map(pointerToken).join("");
}

function pointerToken(key: string | number): string {
  const text = String(key).slice(0, pointerKeyCharactersMax).toWellFormed();
  return `/${text.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

export function invalidField(message: string, pointer: string, detail: string): AppError {
  return new AppError("validation_failed", message, { fields: [{ pointer, detail }] });
}
