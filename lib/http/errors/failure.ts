/**
 * Turns errors into replies and log lines.
 *
 * @module
 */

import { AppError, publicMessage } from "../../base/errors/mod.ts";
import type { Logger } from "../logger.ts";
import type { Family, Reply } from "../route.ts";
import type { ErrorFamily } from "./family.ts";
import { identityFamily } from "./identity.ts";
import { jsonApiFamily } from "./json_api.ts";
import { problemFamily } from "./problem.ts";
import { errorFacts, retryAfterMsDefault } from "./status.ts";

/** Error families by their names in route tables. */
export const families: Readonly<Record<Family, ErrorFamily>> = {
  identity: identityFamily,
  problem: problemFamily,
  jsonApi: jsonApiFamily,
};

/** Maximum number of causes in a log line. */
const causesMax = 4;
/** Maximum length of a path in an error body, in UTF-16 units; a longer path is cut. */
const instanceCharsMax = 1_024;

/** The request and the route that an error belongs to. */
export interface FailureContext {
  readonly family: ErrorFamily;
  /** Undefined: the request has no route. */
  readonly operation: string | undefined;
  /** Authentication scheme of `WWW-Authenticate`. */
  readonly challenge: "Bearer" | "ApiKey";
  /** Scopes that the route demands. */
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

/** Describes an error and its causes for the log. */
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
